import { requeueWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { clearDeletedWorkspace } from '@rapport/core/operations/delete-workspace.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { ctxOf, type WorkerDeps } from '../worker-deps.ts'

/** Takes away what is in a deleted workspace, step by step; a stop hands the rest to the next worker. */
export async function clearDeletedWorkspaceJob(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const ctx = ctxOf(deps, job)
  while (await retryWhileDatabaseDown(() => clearDeletedWorkspace(ctx, job.id))) {
    if (deps.stopping.aborted) return requeueWork(deps.db, [job.id])
  }
}
