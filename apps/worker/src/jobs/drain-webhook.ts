import { idOf } from '@rapport/core/kernel/ids.ts'
import { withTimeout } from '@rapport/core/kernel/with-timeout.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
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
import { retryWhileDatabaseDown } from '../retry-while-database-down.ts'
import { claimOrRelease, runExclusively, type WorkerDeps } from '../worker-deps.ts'

/** How long a job goes on with a backlog before those of other webhooks get their turn. */
const timeSliceMs = 2_000
/** How long a job waits for a place, and how long a webhook that cannot be drained is left to the poll. */
const maxWaitMs = 1_000
/** How long the first outcome of a round waits for others, so that they share a transaction. */
const outcomeBatchMs = 10

/** How the deliveries of a job have ended so far. The dashboard shows it. */
export interface DrainProgress {
  delivered: number
  failed: number
  /** The job drains nothing: there is no free place, or the webhook is paused or claimed by another job. */
  isSkipped?: boolean
}

export interface DrainResult extends DrainProgress {
  durationMs: number
}

/**
 * Drains the backlog of a webhook for a turn: takes the oldest deliveries, attempts them side by side, records the outcomes
 * and takes the next. With a backlog left at the end, the job is requeued behind those of other webhooks. Without a place in
 * this worker, or when the webhook cannot be claimed, it does nothing: the poll of a relay finds the backlog again.
 */
export async function drainWebhook(
  deps: WorkerDeps,
  job: WorkJob,
  onProgress: (progress: DrainProgress) => void,
): Promise<DrainResult> {
  const startedAt = performance.now()
  const progress: DrainProgress = { delivered: 0, failed: 0 }
  const { workspaceId } = job
  await runExclusively(deps, job.id, async () => {
    if (!(await deps.drainSlots.acquire(workspaceId, maxWaitMs))) return skipDrain(deps, job, progress)
    const capacity = deps.requestCapacity.openDrain(workspaceId)
    try {
      await drainWithSlot(deps, job, { capacity, progress, onProgress })
    } finally {
      capacity.close()
      deps.drainSlots.release(workspaceId)
    }
  })
  return { ...progress, durationMs: performance.now() - startedAt }
}

interface DrainRun {
  capacity: DrainCapacity
  progress: DrainProgress
  onProgress: (progress: DrainProgress) => void
}

/** The job of an unreachable receiver needs a second place: there are few of them, as each attempt may take ten seconds. */
async function drainWithSlot(deps: WorkerDeps, job: WorkJob, run: DrainRun): Promise<void> {
  const { workspaceId } = job
  const webhookId = idOf('whk', job.id)
  const claim: BacklogClaim = { workspaceId, webhookId, workerId: deps.workerId, tokens: [], unreachableCount: 0 }
  if (run.capacity.reserve(1) === 0) await withTimeout(run.capacity.whenReleased(), maxWaitMs).catch(() => {})
  const limit = run.capacity.reserve(deps.concurrency.get(webhookId))
  if (limit === 0 || deps.stopping.aborted) return skipDrain(deps, job, run.progress)
  let hasUnreachableSlot = false
  const admitUnreachable = () => (hasUnreachableSlot ||= deps.unreachableSlots.tryAcquire(workspaceId))
  try {
    const take = await claimOrRelease(
      () => deps.limitDrainTransactions(() => claimBacklog(deps.db, claim, { limit, admitUnreachable })),
      () => releaseBacklog(deps.db, claim),
    )
    if (take === 'empty') return
    if (take === 'unclaimable') return skipDrain(deps, job, run.progress)
    const hasMore = await runTimeSlice(deps, claim, { ...run, take })
    if (hasMore) await deps.requeueDrain(job)
  } finally {
    if (hasUnreachableSlot) deps.unreachableSlots.release(workspaceId)
  }
}

/** Leaves the backlog to the poll of a relay. */
function skipDrain(deps: WorkerDeps, job: WorkJob, progress: DrainProgress): void {
  deps.drainCooldown.start(job.id)
  progress.isSkipped = true
}

/** Returns whether there may be more that can be delivered now. */
async function runTimeSlice(
  deps: WorkerDeps,
  claim: BacklogClaim,
  { take, capacity, progress, onProgress }: DrainRun & { take: TakeResult },
): Promise<boolean> {
  const endsAt = performance.now() + timeSliceMs
  const connections = deps.http.openConnections()
  const out = new Map<string, Promise<EndedDelivery>>()
  const attemptAll = ({ receiver, deliveries }: TakeResult) => {
    if (!receiver) return
    for (const delivery of deliveries) {
      out.set(delivery.uuid, attemptDelivery(deps, { ...claim, receiver, connections }, delivery))
    }
  }
  let current: TakeResult | undefined = take
  attemptAll(take)
  try {
    while (out.size > 0) {
      capacity.setInFlight(out.size)
      const ended = await collectEnded(out)
      // Before the next are reserved, so that a concurrency that falls holds at once.
      capacity.setInFlight(out.size)
      countOutcomes(progress, ended)
      onProgress(progress)
      deps.concurrency.adapt(claim.webhookId, getConclusiveOutcomes(claim, ended))
      // With slow requests still out, the job keeps its place anyway: it goes on beside them unless another job waits.
      const isSliceOver = performance.now() > endsAt && (out.size === 0 || deps.drainSlots.hasWaiting())
      const isOver: boolean = !current || isSliceOver || deps.stopping.aborted
      const limit: number = isOver ? 0 : capacity.reserve(deps.concurrency.get(claim.webhookId)) - out.size
      const round = { ended, inFlight: [...out.keys()], limit: Math.max(0, limit) }
      current = await retryWhileDatabaseDown(() =>
        deps.limitDrainTransactions(() => recordAndTakeNext(deps.db, claim, round)),
      )
      if (current) attemptAll(current)
    }
    return current !== undefined && current.hasMore && getPauseMs(claim.unreachableCount) === 0
  } finally {
    await Promise.allSettled(out.values())
    await connections.close()
  }
}

/** Waits until an attempt ends, and a moment for others. Removes those that have ended. */
async function collectEnded(out: Map<string, Promise<EndedDelivery>>): Promise<EndedDelivery[]> {
  const ended: EndedDelivery[] = []
  const attempts = [...out.values()].map((attempt) => attempt.then((delivery) => void ended.push(delivery)))
  await Promise.race(attempts)
  await withTimeout(Promise.all(attempts), outcomeBatchMs).catch(() => {})
  const collected = [...ended]
  for (const { uuid } of collected) out.delete(uuid)
  return collected
}

function countOutcomes(progress: DrainProgress, ended: readonly EndedDelivery[]): void {
  for (const { outcome } of ended) {
    if (outcome.status === 'SUCCEEDED') progress.delivered += 1
    else progress.failed += 1
  }
}

/** Such as `42 delivered, 1 failed, 3.0 s`. */
export function describeResult({ delivered, failed, isSkipped, durationMs }: DrainResult): string {
  if (isSkipped) return 'Postponed: no free place, paused, or claimed by another job'
  return `${delivered} delivered, ${failed} failed, ${(durationMs / 1_000).toFixed(1)} s`
}
