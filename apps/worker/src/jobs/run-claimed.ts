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
  await runClaims<{ claim: Claim; subject: Subject }>(deps, [job], {
    async claim(ctx, claims) {
      const [claim] = claims
      const subject = claim && (await makeClaim(ctx, claim))
      return claim && subject !== undefined ? [{ claim, subject }] : []
    },
    async work(ctx, [claimed]) {
      if (!claimed) return
      const end = await work(ctx, claimed.subject)
      if (end !== 'done') await retryWhileDatabaseDown(deps, () => releaseClaim(ctx, claimed.claim, end))
    },
  })
}

interface ClaimedRuns<Subject extends { claim: Claim }> {
  /** Claims what it can of the work, and leaves the rest unclaimed. */
  claim: (ctx: Ctx, claims: readonly Claim[]) => Promise<readonly Subject[]>
  /** Ends the claims, each with its outcome. */
  work: (ctx: Ctx, subjects: readonly Subject[]) => Promise<void>
}

/** The same for several records of a workspace, with a claim each. Returns how many could be claimed. */
export async function runClaims<Subject extends { claim: Claim }>(
  deps: WorkerDeps,
  jobs: readonly WorkJob[],
  { claim: makeClaims, work }: ClaimedRuns<Subject>,
): Promise<number> {
  const [first] = jobs
  if (!first) return 0
  const ctx = ctxOf(deps, first)
  const claims = jobs.map((job) => prepareClaim({ ...job, workerId: deps.workerId }))
  for (const claim of claims) deps.liveClaims.add(claim)
  try {
    const subjects = await makeClaims(ctx, claims).catch(async (error: unknown) => {
      // The claims may be committed; nothing was done with them.
      for (const claim of claims) await retryWhileDatabaseDown(deps, () => releaseUnacknowledged(ctx, claim))
      throw error
    })
    const claimed = new Set(subjects.map(({ claim }) => claim))
    const unclaimed = claims.filter((claim) => !claimed.has(claim))
    if (unclaimed.length > 0)
      await delayUnclaimableWork(
        ctx,
        unclaimed.map(({ id }) => id),
      )
    if (subjects.length > 0)
      await work(ctx, subjects).catch(async (error: unknown) => {
        const recovery = { error: 'The outcome could not be recorded', release: 'retry' } as const
        for (const claim of claimed)
          deps.metrics.countInterrupted(
            await retryWhileDatabaseDown(deps, () => recoverClaim(deps.db, claim, recovery)),
          )
        throw error
      })
    return subjects.length
  } finally {
    for (const claim of claims) deps.liveClaims.delete(claim)
  }
}
