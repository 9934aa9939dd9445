import { requeueWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { eraseNextStep } from '@rapport/core/operations/contacts/erase-contact.ts'
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { ctxOf, type WorkerDeps } from '../worker-deps.ts'

/**
 * Erases what outlives the row of a deleted contact, in steps. Requeues the rest when the worker shuts down. If the erasure must
 * wait for other jobs, the relay publishes it again after some seconds.
 */
export async function eraseContactJob(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const ctx = ctxOf(deps, job)
  while ((await retryWhileDatabaseDown(deps, () => eraseNextStep(ctx, job.id))) === 'continue') {
    if (deps.stopping.aborted) return requeueWork(ctx, [job.id])
  }
}
