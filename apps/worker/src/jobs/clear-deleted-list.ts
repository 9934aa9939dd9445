import { clearDeletedList } from '@rapport/core/lists/delete-list.ts'
import { requeueWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { ctxOf, type WorkerDeps } from '../worker-deps.ts'

/** Takes away what a deleted list leaves behind, step by step; a stop hands the rest to the next worker. */
export async function clearDeletedListJob(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const ctx = ctxOf(deps, job)
  while (await retryWhileDatabaseDown(() => clearDeletedList(ctx, job.id))) {
    if (deps.stopping.aborted) return requeueWork(deps.db, [job.id])
  }
}
