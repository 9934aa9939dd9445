import { clearNextBatch, finishRemoval, requeueRemoval } from '@rapport/core/custom-fields/clear-custom-field.ts'
import { idOf } from '@rapport/core/kernel/ids.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { ctxOf, type WorkerDeps, runExclusively } from '../worker-deps.ts'

/** Removes the values of a deleted custom field from all contacts, in batches. Idempotent. */
export function clearCustomField(deps: WorkerDeps, job: WorkJob): Promise<void> {
  return runExclusively(deps, job.id, async () => {
    const ctx = ctxOf(deps, job)
    const id = idOf('cfd', job.id)
    do {
      let email: string | undefined = ''
      while (email !== undefined) {
        if (deps.stopping.aborted) return retryWhileDatabaseDown(deps, () => requeueRemoval(ctx, id))
        email = await clearNextBatch(ctx, id, email)
      }
    } while (!(await finishRemoval(ctx, id)))
  })
}
