import { idOf } from '@rapport/core/kernel/ids.ts'
import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import {
  type BacklogClaim,
  claimBacklog,
  recordAndTakeNext,
  releaseBacklog,
  type TakeResult,
} from '@rapport/core/webhooks/drain/backlog-claim.ts'
import { getPauseMs } from '@rapport/core/webhooks/drain/circuit-breaker.ts'
import { getConclusiveOutcomes } from '@rapport/core/webhooks/drain/receiver-state.ts'
import type { EndedDelivery } from '@rapport/core/webhooks/drain/record-outcomes.ts'
import { attemptDelivery } from '../webhook-delivery/attempt-delivery.ts'
import type { DrainCapacity } from '../webhook-delivery/request-capacity.ts'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { ctxOf, type WorkerDeps } from '../process/worker-deps.ts'

/** The deliveries of a job so far. The dashboard shows them. */
export interface DrainProgress {
  delivered: number
  failed: number
  /** The job sent nothing: no slot was free, or the webhook is paused or claimed by another job. */
  isSkipped?: boolean
}

export interface DrainResult extends DrainProgress {
  durationMs: number
}

/**
 * Drains the backlog of a webhook for one time slice: takes the oldest deliveries, attempts them concurrently, records
 * the outcomes and takes the next deliveries. If a backlog remains, the job is requeued behind the jobs of other
 * webhooks. If no slot is free or the webhook cannot be claimed, the job is skipped, and the relay's poll finds the
 * backlog later.
 */
export async function drainWebhook(
  deps: WorkerDeps,
  job: WorkJob,
  onProgress: (progress: DrainProgress) => void,
): Promise<DrainResult> {
  const startedAt = performance.now()
  const progress: DrainProgress = { delivered: 0, failed: 0 }
  const { workspaceId } = job
  await deps.webhookQuota.read(ctxOf(deps, job))
  if (await deps.drainSlots.acquire(workspaceId, deps.timings.drainMaxWaitMs)) {
    const capacity = deps.requestCapacity.openDrain(workspaceId)
    try {
      await drainWithSlot(deps, job, { capacity, progress, onProgress })
    } finally {
      capacity.close()
      deps.drainSlots.release(workspaceId)
    }
  } else skipDrain(deps, job, progress)
  return { ...progress, durationMs: performance.now() - startedAt }
}

interface DrainRun {
  capacity: DrainCapacity
  progress: DrainProgress
  onProgress: (progress: DrainProgress) => void
}

/**
 * Drains with a slot of `drainSlots`. A webhook whose receiver is unreachable also needs one of `unreachableSlots`;
 * there are few, because each attempt may take ten seconds.
 */
async function drainWithSlot(deps: WorkerDeps, job: WorkJob, run: DrainRun): Promise<void> {
  const { workspaceId } = job
  const { drainMaxWaitMs, firstPauseMs } = deps.timings
  const webhookId = idOf('whk', job.id)
  const { workerId } = deps
  const claim: BacklogClaim = { workspaceId, webhookId, workerId, tokens: [], unreachableCount: 0, firstPauseMs }
  if (run.capacity.reserve(1) === 0) await withTimeout(run.capacity.whenReleased(), drainMaxWaitMs).catch(() => {})
  const limit = run.capacity.reserve(deps.concurrency.get(webhookId))
  if (limit === 0 || deps.stopping.aborted) return skipDrain(deps, job, run.progress)
  let hasUnreachableSlot = false
  const admitUnreachable = () => (hasUnreachableSlot ||= deps.unreachableSlots.tryAcquire(workspaceId))
  deps.liveClaims.add(claim)
  try {
    const take = await deps
      .limitDrainTransactions(() => claimBacklog(deps.db, claim, { limit, admitUnreachable }))
      .catch(async (error: unknown) => {
        // The claim may be committed; nothing was sent.
        await retryWhileDatabaseDown(deps, () => releaseBacklog(deps.db, claim))
        throw error
      })
    if (take === 'empty') return
    if (take === 'unclaimable') return skipDrain(deps, job, run.progress)
    const hasMore = await runTimeSlice(deps, claim, { ...run, take })
    if (hasMore) await deps.requeueDrain(job)
  } finally {
    deps.liveClaims.delete(claim)
    if (hasUnreachableSlot) deps.unreachableSlots.release(workspaceId)
  }
}

/** Skips the job. The relay's poll finds the backlog later. */
function skipDrain(deps: WorkerDeps, job: WorkJob, progress: DrainProgress): void {
  deps.drainCooldown.start(job.id)
  progress.isSkipped = true
}

/** Returns whether there may be more deliveries that can be attempted now. */
async function runTimeSlice(
  deps: WorkerDeps,
  claim: BacklogClaim,
  { take, capacity, progress, onProgress }: DrainRun & { take: TakeResult },
): Promise<boolean> {
  const endsAt = performance.now() + deps.timings.drainTimeSliceMs
  const connections = deps.http.openConnections()
  const inFlight = new Map<string, Promise<EndedDelivery>>()
  const attemptAll = ({ receiver, deliveries }: TakeResult) => {
    if (!receiver) return
    for (const delivery of deliveries) {
      inFlight.set(delivery.uuid, attemptDelivery(deps, { ...claim, receiver, connections }, delivery))
    }
  }
  let current: TakeResult | undefined = take
  attemptAll(take)
  try {
    while (inFlight.size > 0) {
      capacity.setInFlight(inFlight.size)
      const ended = await collectEnded(deps, inFlight)
      // Releases capacity before the next reservation, so that a lower concurrency applies immediately.
      capacity.setInFlight(inFlight.size)
      countOutcomes(progress, ended)
      onProgress(progress)
      deps.concurrency.adapt(claim.webhookId, getConclusiveOutcomes(claim, ended))
      // With slow requests in flight, the job holds its slot anyway: it sends more unless another job waits for a slot.
      const isSliceOver = performance.now() > endsAt && (inFlight.size === 0 || deps.drainSlots.hasWaiting())
      const isEnding: boolean = !current || isSliceOver || deps.stopping.aborted
      const limit: number = isEnding ? 0 : capacity.reserve(deps.concurrency.get(claim.webhookId)) - inFlight.size
      const step = { ended, inFlight: [...inFlight.keys()], limit: Math.max(0, limit) }
      current = await retryWhileDatabaseDown(deps, () =>
        deps.limitDrainTransactions(() => recordAndTakeNext(deps.db, claim, step)),
      )
      if (current) attemptAll(current)
    }
    return current !== undefined && current.hasMore && getPauseMs(claim.unreachableCount) === 0
  } finally {
    await Promise.allSettled(inFlight.values())
    await connections.close()
  }
}

/** Waits until an attempt ends, and then a moment for others. Removes the ended attempts from `inFlight`. */
async function collectEnded(
  { timings }: WorkerDeps,
  inFlight: Map<string, Promise<EndedDelivery>>,
): Promise<EndedDelivery[]> {
  const ended: EndedDelivery[] = []
  const attempts = [...inFlight.values()].map((attempt) => attempt.then((delivery) => void ended.push(delivery)))
  await Promise.race(attempts)
  await withTimeout(Promise.all(attempts), timings.outcomeBatchMs).catch(() => {})
  const collected = [...ended]
  for (const { uuid } of collected) inFlight.delete(uuid)
  return collected
}

function countOutcomes(progress: DrainProgress, ended: readonly EndedDelivery[]): void {
  for (const { outcome } of ended) {
    if (outcome.status === 'SUCCEEDED') progress.delivered += 1
    else if (outcome.status === 'FAILED') progress.failed += 1
  }
}

/** For example `42 delivered, 1 failed, 3.0 s`. */
export function describeResult({ delivered, failed, isSkipped, durationMs }: DrainResult): string {
  if (isSkipped) return 'Skipped: no free slot, paused, or claimed by another job'
  return `${delivered} delivered, ${failed} failed, ${(durationMs / 1_000).toFixed(1)} s`
}
