import { runForWorkspace } from '@rapport/core/db/pool/fair-pool.ts'
import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import type { EndedDelivery } from '@rapport/core/webhooks/drain/delivery-outcome.ts'
import { type DrainClaim, prepareDrain } from '@rapport/core/webhooks/drain/drain-claim.ts'
import {
  claimDrain,
  recordAndTakeNext,
  releaseUnansweredDrain,
  type TakeResult,
} from '@rapport/core/webhooks/drain/drain.ts'
import { getConclusiveOutcomes } from '@rapport/core/webhooks/drain/receiver-state.ts'
import type { TakeLimits } from '@rapport/core/webhooks/drain/take-deliveries.ts'
import { ctxOf, type WorkerDeps } from '../process/worker-deps.ts'
import { attemptDelivery } from '../webhook-delivery/attempt-delivery.ts'
import { initialPace } from '../webhook-delivery/receiver-memory.ts'
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

/**
 * Drains the webhooks of a workspace: takes the oldest deliveries, attempts them concurrently, and in each step records
 * what has ended and takes the next, until nothing is left or a turn is over while other workspaces wait. Three limits
 * hold, and no more:
 *
 * 1. how many workspaces a worker drains at once: the concurrency of the queue,
 * 2. how many requests of a workspace are in flight (`QUOTA_WEBHOOK_REQUESTS`), slow receivers at most half of them,
 * 3. how many of a webhook: 1 to 20, see `receiver-memory.ts`; none while it is paused, see `circuit-breaker.ts`.
 *
 * The transactions run for their workspace: work that runs for no workspace, such as the heartbeat, gets the next free
 * connection of the pool before them (`FairPool`).
 */
export async function drainWebhooks(
  deps: WorkerDeps,
  job: WorkJob,
  onProgress: (progress: DrainProgress) => void,
): Promise<DrainResult> {
  const startedAt = performance.now()
  const progress: DrainProgress = { delivered: 0, failed: 0 }
  deps.drains.active += 1
  try {
    await runForWorkspace(job.workspaceId, () => drain(deps, job, { progress, onProgress }))
  } finally {
    deps.drains.active -= 1
  }
  return { ...progress, durationMs: performance.now() - startedAt }
}

interface Report {
  progress: DrainProgress
  onProgress: (progress: DrainProgress) => void
}

async function drain(deps: WorkerDeps, job: WorkJob, report: Report): Promise<void> {
  if (deps.stopping.aborted) return
  const { workspaceId } = job
  await deps.webhookQuota.read(ctxOf(deps, job))
  const claim = prepareDrain({ workspaceId, workerId: deps.workerId, firstPauseMs: deps.timings.firstPauseMs })
  const connections = deps.http.openConnections()
  const requests = createRequestsInFlight({
    attempt: (delivery) => attemptDelivery(deps, { workspaceId, connections }, delivery),
    batchMs: deps.timings.outcomeBatchMs,
  })
  deps.liveClaims.add(claim)
  try {
    const first = await claimDrain(deps.db, claim, limitsOf(deps, workspaceId, requests)).catch(
      async (error: unknown) => {
        // The claim may be committed; nothing was sent.
        await retryWhileDatabaseDown(deps, () => releaseUnansweredDrain(deps.db, claim))
        throw error
      },
    )
    if (first && (await runTurn(deps, claim, { first, requests, ...report }))) await deps.requeueDrain(job)
  } finally {
    await requests.waitForAll()
    await connections.close()
    deps.liveClaims.delete(claim)
  }
}

/** Returns whether more deliveries can be taken now. */
async function runTurn(
  deps: WorkerDeps,
  claim: DrainClaim,
  { first, requests, progress, onProgress }: Report & { first: TakeResult; requests: RequestsInFlight },
): Promise<boolean> {
  const endsAt = performance.now() + deps.timings.drainTurnMs
  let current: TakeResult | undefined = first
  requests.start(first.deliveries)
  while (requests.uuids().length > 0) {
    const ended = await requests.collectEnded()
    countOutcomes(progress, ended)
    onProgress(progress)
    adaptPaces(deps, claim, ended)
    const isTurnOver = performance.now() > endsAt && deps.drains.active >= deps.drains.max
    const limits = limitsOf(deps, claim.workspaceId, requests)
    const step = {
      ended,
      inFlight: requests.uuids(),
      limits: isTurnOver || deps.stopping.aborted ? { ...limits, total: 0 } : limits,
    }
    current = await retryWhileDatabaseDown(deps, () => recordAndTakeNext(deps.db, claim, step))
    if (current) requests.start(current.deliveries)
  }
  return current?.hasMore ?? false
}

/** More than any receiver needs, for a workspace without a quota. */
const maxRequests = 1_000

function limitsOf(
  { receivers, webhookQuota }: WorkerDeps,
  workspaceId: WorkspaceId,
  requests: RequestsInFlight,
): TakeLimits {
  const quota = Math.min(webhookQuota.peek(workspaceId), maxRequests)
  const paces = receivers.read(workspaceId)
  const counts = requests.countByWebhook()
  const webhooks = [...new Set([...paces.keys(), ...counts.keys()])].map((webhookId) => {
    const { concurrency, isSlow } = paces.get(webhookId) ?? initialPace
    return { webhookId, concurrency, isSlow, inFlight: counts.get(webhookId) ?? 0 }
  })
  const sum = (counted: typeof webhooks) => counted.reduce((total, { inFlight }) => total + inFlight, 0)
  return {
    webhooks,
    total: quota - sum(webhooks),
    slow: Math.ceil(quota / 2) - sum(webhooks.filter(({ isSlow }) => isSlow)),
  }
}

function adaptPaces({ receivers }: WorkerDeps, claim: DrainClaim, ended: readonly EndedDelivery[]): void {
  for (const [webhookId, round] of Map.groupBy(ended, (delivery) => delivery.webhookId)) {
    receivers.adapt(claim.workspaceId, webhookId, getConclusiveOutcomes(claim.receivers.get(webhookId) ?? {}, round))
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
