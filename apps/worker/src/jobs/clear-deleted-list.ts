import { clearDeletedList } from '@rapport/core/lists/delete-list.ts'
import { requeueWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { ctxOf, type WorkerDeps } from '../worker-deps.ts'

/** Deletes the rows of a deleted list in batches. Requeues the rest when the worker shuts down. */
export async function clearDeletedListJob(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const ctx = ctxOf(deps, job)
  while (await retryWhileDatabaseDown(deps, () => clearDeletedList(ctx, job.id))) {
    if (deps.stopping.aborted) return requeueWork(ctx, [job.id])
  }
}
