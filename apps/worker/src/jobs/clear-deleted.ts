/** The jobs that delete in the background what belongs to a deleted record, in steps that can be repeated. */
import { clearNextBatch } from '@rapport/core/custom-fields/clear-custom-field.ts'
import { idOf } from '@rapport/core/kernel/ids.ts'
import { clearDeletedList } from '@rapport/core/lists/delete-list.ts'
import { releaseNextContacts } from '@rapport/core/contacts/release-contacts.ts'
import { eraseNextStep } from '@rapport/core/operations/contacts/erase-contact.ts'
import { clearDeletedWorkspace } from '@rapport/core/operations/workspaces/delete-workspace.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { claimWork } from '@rapport/core/work/claims.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { type RunEnd, runClaimed } from './run-claimed.ts'
import type { WorkerDeps } from '../process/worker-deps.ts'

/** Does the next step. The last one finishes the work. */
type Step = (ctx: Ctx) => Promise<'continue' | RunEnd>

/**
 * Repeats a step until it is done. At the end of its turn, or when the worker shuts down, it leaves the rest to another
 * job, so that an erasure in one workspace does not wait for what another one deletes.
 */
function repeat(deps: WorkerDeps, job: WorkJob, { step }: { step: Step }): Promise<void> {
  const endsAt = performance.now() + deps.timings.clearTurnMs
  return runClaimed(deps, job, {
    claim: async (ctx, claim) => ((await claimWork(ctx, claim)) ? claim : undefined),
    async work(ctx) {
      for (;;) {
        const end = await retryWhileDatabaseDown(deps, () => step(ctx))
        if (end !== 'continue') return end
        if (deps.stopping.aborted || performance.now() >= endsAt) return 'requeue'
      }
    },
  })
}

const continueIf = async (hasMore: Promise<boolean>) => ((await hasMore) ? 'continue' : 'done')

/** Deletes the rows of a deleted list. */
export const clearList = (deps: WorkerDeps, job: WorkJob) =>
  repeat(deps, job, { step: (ctx) => continueIf(clearDeletedList(ctx, job.id)) })

/** Deletes the rows of a deleted workspace. */
export const clearWorkspace = (deps: WorkerDeps, job: WorkJob) =>
  repeat(deps, job, { step: (ctx) => continueIf(clearDeletedWorkspace(ctx, job.id)) })

/** Clears the company of the contacts of a deleted company. */
export const releaseCompany = (deps: WorkerDeps, job: WorkJob) =>
  repeat(deps, job, { step: (ctx) => continueIf(releaseNextContacts(ctx, idOf('cpy', job.id))) })

/** Erases what outlives the row of a deleted contact. Waits if other jobs must finish first. */
export const eraseContact = (deps: WorkerDeps, job: WorkJob) =>
  repeat(deps, job, { step: (ctx) => eraseNextStep(ctx, job.id) })

/** Removes the values of a deleted custom field from all records. */
export const clearCustomField = (deps: WorkerDeps, job: WorkJob) =>
  repeat(deps, job, { step: (ctx) => continueIf(clearNextBatch(ctx, idOf('cfd', job.id))) })
