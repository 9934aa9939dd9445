import { runForWorkspace } from '@rapport/core/db/fair-pool.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import type { EndedDelivery } from '@rapport/core/webhooks/drain/delivery-outcome.ts'
import { type DrainClaim, prepareDrain } from '@rapport/core/webhooks/drain/drain-claim.ts'
import {
  claimDrain,
  recordAndTakeNext,
  releaseUnacknowledgedDrain,
  type TakeResult,
} from '@rapport/core/webhooks/drain/drain.ts'
import { getReachabilityOutcomes } from '@rapport/core/webhooks/drain/receiver-state.ts'
import type { TakeLimits } from '@rapport/core/webhooks/drain/take-deliveries.ts'
import { ctxOf, type WorkerDeps } from '../process/worker-deps.ts'
import { attemptDelivery } from './attempt-delivery.ts'
import { initialSpeed, isActive } from '../webhook-delivery/receiver-memory.ts'
import { createRequestsInFlight, type RequestsInFlight } from '../webhook-delivery/requests-in-flight.ts'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'

/** The deliveries of a job so far. The dashboard shows them. */
export interface DrainProgress {
  delivered: number
  failed: number
}

export interface DrainResult extends DrainProgress {
  durationMs: number
}

/** The job, as the queue runs it. */
export interface JobControl {
  onProgress: (progress: DrainProgress) => void
  /** From now on, new deliveries of the workspace add a job, although this one is active. */
  allowNextJob: () => void
}

/**
 * Drains the webhooks of a workspace: takes the oldest deliveries, attempts them concurrently, and in each step records
 * what has ended and takes the next, until nothing is left or a turn is over while other workspaces wait. Three limits
 * hold, and no more:
 *
 * 1. how many workspaces a worker drains at once: the concurrency of the queue,
 * 2. how many requests of a workspace are in flight (`QUOTA_WEBHOOK_REQUESTS`), slow receivers at most half of them,
 * 3. how many of a webhook: 1 to 20, fewer the slower its receiver is while another active one is not slow,
 *    see `receiver-memory.ts`; none while it is paused, see `circuit-breaker.ts`.
 *
 * While requests do not end, new deliveries of other webhooks must not wait for them. So the job then looks for new ones,
 * after a time that doubles. It also lets the next job start, which ends its wait if it is in this process; otherwise,
 * the next look finds what that job was for.
 *
 * The transactions run for their workspace: work that runs for no workspace, such as the heartbeat, gets the next free
 * connection of the pool before them (`FairPool`).
 */
export async function drainWebhooks(deps: WorkerDeps, job: WorkJob, control: JobControl): Promise<DrainResult> {
  const startedAt = performance.now()
  const progress: DrainProgress = { delivered: 0, failed: 0 }
  const endWait = deps.drains.active.get(job.workspaceId)
  if (endWait) endWait()
  else await runForWorkspace(job.workspaceId, () => drain(deps, job, { progress, ...control }))
  return { ...progress, durationMs: performance.now() - startedAt }
}

interface Turn extends JobControl {
  progress: DrainProgress
}

async function drain(deps: WorkerDeps, job: WorkJob, turn: Turn): Promise<void> {
  const { workspaceId } = job
  const claim = prepareDrain({ workspaceId, workerId: deps.workerId, firstPauseMs: deps.timings.firstPauseMs })
  const connections = deps.http.openConnections()
  const requests = createRequestsInFlight({
    attempt: (delivery) => attemptDelivery(deps, { workspaceId, connections }, delivery),
    batchMs: deps.timings.outcomeBatchMs,
  })
  deps.drains.active.set(workspaceId, requests.endWait)
  deps.liveClaims.add(claim)
  let hasMore = false
  try {
    const limits = await readLimits(deps, claim, requests)
    if (deps.stopping.aborted) return
    const first = await claimDrain(deps.db, claim, limits).catch(async (error: unknown) => {
      // The claim may be committed; nothing was sent.
      await retryWhileDatabaseDown(deps, () => releaseUnacknowledgedDrain(deps.db, claim))
      throw error
    })
    if (first) hasMore = await runTurn(deps, claim, { ...turn, first, requests })
  } finally {
    await requests.waitForAll()
    await connections.close()
    deps.liveClaims.delete(claim)
    deps.drains.active.delete(workspaceId)
  }
  // A job that ended right after the last step relies on this one.
  if (hasMore || requests.hasNewDeliveries()) await deps.requeueDrain(job)
}

/** Returns whether more deliveries can be taken now. */
async function runTurn(
  deps: WorkerDeps,
  claim: DrainClaim,
  { first, requests, progress, onProgress, allowNextJob }: Turn & { first: TakeResult; requests: RequestsInFlight },
): Promise<boolean> {
  const { timings, drains } = deps
  const endsAt = performance.now() + timings.drainTurnMs
  let current: TakeResult | undefined = first
  let lookMs = timings.minDrainLookMs
  requests.start(first.deliveries)
  while (requests.uuids().length > 0) {
    const ended = await requests.collectEnded(lookMs)
    if (ended.length === 0) allowNextJob()
    lookMs = ended.length === 0 ? Math.min(lookMs * 2, timings.maxDrainLookMs) : timings.minDrainLookMs
    countOutcomes(progress, ended)
    onProgress(progress)
    adaptSpeeds(deps, claim, ended)
    const isTurnOver = performance.now() > endsAt && drains.active.size >= drains.max
    const isEnding = isTurnOver || deps.stopping.aborted
    current = await retryWhileDatabaseDown(deps, async () => {
      const limits = await readLimits(deps, claim, requests)
      const step = { ended, inFlight: requests.uuids(), limits: isEnding ? { ...limits, total: 0 } : limits }
      return recordAndTakeNext(deps.db, claim, step)
    })
    if (current) requests.start(current.deliveries)
  }
  return current?.hasMore ?? false
}

/** More than any receiver needs, for a workspace without a quota. */
const maxRequests = 1_000

async function readLimits(deps: WorkerDeps, claim: DrainClaim, requests: RequestsInFlight): Promise<TakeLimits> {
  const { workspaceId, id } = claim
  const quota = Math.min(await deps.webhookQuota.read(ctxOf(deps, { workspaceId, id })), maxRequests)
  const speeds = deps.receivers.read(workspaceId)
  const counts = requests.countByWebhook()
  const known = [...new Set([...speeds.keys(), ...counts.keys()])].map((webhookId) => {
    const speed = speeds.get(webhookId) ?? initialSpeed
    const isUnreachable = (claim.receivers.get(webhookId)?.unreachableCount ?? 0) > 0
    return { ...speed, webhookId, isSlow: speed.isSlow || isUnreachable, inFlight: counts.get(webhookId) ?? 0 }
  })
  const hasFast = known.some((webhook) => !webhook.isSlow && (webhook.inFlight > 0 || isActive(webhook)))
  const webhooks = known.map(({ concurrency, concurrencyBesideFast, ...webhook }) => ({
    ...webhook,
    concurrency: hasFast ? concurrencyBesideFast : concurrency,
  }))
  const sum = (counted: typeof webhooks) => counted.reduce((total, { inFlight }) => total + inFlight, 0)
  return {
    webhooks,
    total: quota - sum(webhooks),
    slow: Math.ceil(quota / 2) - sum(webhooks.filter(({ isSlow }) => isSlow)),
  }
}

function adaptSpeeds({ receivers }: WorkerDeps, claim: DrainClaim, ended: readonly EndedDelivery[]): void {
  for (const [webhookId, round] of Map.groupBy(ended, (delivery) => delivery.webhookId)) {
    receivers.adapt(claim.workspaceId, webhookId, getReachabilityOutcomes(claim.receivers.get(webhookId) ?? {}, round))
  }
}

function countOutcomes(progress: DrainProgress, ended: readonly EndedDelivery[]): void {
  for (const { outcome } of ended) {
    if (outcome.status === 'SUCCEEDED') progress.delivered += 1
    else if (outcome.status === 'FAILED') progress.failed += 1
  }
}

/** For example `42 delivered, 1 failed, 3.0 s`. */
export const describeResult = ({ delivered, failed, durationMs }: DrainResult): string =>
  `${delivered} delivered, ${failed} failed, ${(durationMs / 1_000).toFixed(1)} s`
