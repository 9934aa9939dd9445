import { requeueWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { clearDeletedWorkspace } from '@rapport/core/operations/delete-workspace.ts'
import { keepTrying } from '../keep-trying.ts'
import { ctxOf, type Tools } from '../tools.ts'

/** Takes away what is in a deleted workspace, step by step; a stop hands the rest to the next worker. */
export async function clearDeletedWorkspaceJob(tools: Tools, job: WorkJob): Promise<void> {
  const ctx = ctxOf(tools, job)
  while (await keepTrying(() => clearDeletedWorkspace(ctx, job.id))) {
    if (tools.stopping.aborted) return requeueWork(tools.db, [job.id])
  }
}
