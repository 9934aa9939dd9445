import { requeueWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { clearDeletedWorkspace } from '@rapport/core/operations/delete-workspace.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { ctxOf, type WorkerDeps } from '../worker-deps.ts'

/** Deletes the rows of a deleted workspace in batches. Requeues the rest when the worker shuts down. */
export async function clearDeletedWorkspaceJob(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const ctx = ctxOf(deps, job)
  while (await retryWhileDatabaseDown(deps, () => clearDeletedWorkspace(ctx, job.id))) {
    if (deps.stopping.aborted) return requeueWork(ctx, [job.id])
  }
}
