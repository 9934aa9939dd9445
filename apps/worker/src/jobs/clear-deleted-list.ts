import { clearDeletedList } from '@rapport/core/lists/delete-list.ts'
import { requeueWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { keepTrying } from '../keep-trying.ts'
import { ctxOf, type Tools } from '../tools.ts'

/** Takes away what a deleted list leaves behind, step by step; a stop hands the rest to the next worker. */
export async function clearDeletedListJob(tools: Tools, job: WorkJob): Promise<void> {
  const ctx = ctxOf(tools, job)
  while (await keepTrying(() => clearDeletedList(ctx, job.id))) {
    if (tools.stopping.aborted) return requeueWork(tools.db, [job.id])
  }
}
