import type { Ctx } from '@rapport/core/request/context.ts'
import { recoverClaim } from '@rapport/core/operations/recovery/recover-claims.ts'
import {
  type Claim,
  prepareClaim,
  type Release,
  releaseClaim,
  releaseUnacknowledged,
} from '@rapport/core/work/claims.ts'
import { delayUnclaimableWork } from '@rapport/core/work/publish.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { ctxOf, type WorkerDeps } from '../process/worker-deps.ts'

/**
 * How a run ends that throws no error: `done` if the outcome is recorded, and the claim has ended with it. Otherwise the
 * rest is for another job: `requeue` after shutdown, the end of a turn, a pause, cancel, suspension or a lost claim.
 */
export type RunEnd = 'done' | Release

interface ClaimedRun<Subject> {
  /** Claims the work. Returns undefined if that is not possible. */
  claim: (ctx: Ctx, claim: Claim) => Promise<Subject | undefined>
  work: (ctx: Ctx, subject: Subject) => Promise<RunEnd>
}

/**
 * Runs a job: claims its work, does it, and ends the claim as `work` says. Work that cannot be claimed is delayed by ten
 * minutes, unless another job has it. After an error, the claim is ended as after a crash, and the queue runs the job
 * again. A claim that cannot be ended here is ended by the heartbeat.
 */
export async function runClaimed<Subject>(
  deps: WorkerDeps,
  job: WorkJob,
  { claim: makeClaim, work }: ClaimedRun<Subject>,
): Promise<void> {
  const ctx = ctxOf(deps, job)
  const claim = prepareClaim({ ...job, workerId: deps.workerId })
  deps.liveClaims.add(claim)
  try {
    const subject = await makeClaim(ctx, claim).catch(async (error: unknown) => {
      // The claim may be committed; nothing was done with it.
      await retryWhileDatabaseDown(deps, () => releaseUnacknowledged(ctx, claim))
      throw error
    })
    if (subject === undefined) return await delayUnclaimableWork(ctx, claim.id)
    const end = await work(ctx, subject).catch(async (error: unknown) => {
      const recovery = { error: 'The outcome could not be recorded', release: 'retry' } as const
      deps.metrics.countInterrupted(await retryWhileDatabaseDown(deps, () => recoverClaim(deps.db, claim, recovery)))
      throw error
    })
    if (end !== 'done') await retryWhileDatabaseDown(deps, () => releaseClaim(ctx, claim, end))
  } finally {
    deps.liveClaims.delete(claim)
  }
}
