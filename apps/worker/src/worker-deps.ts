import type { Ctx, Settings } from '@rapport/core/request/context.ts'
import type { Db } from '@rapport/core/db/client.ts'
import type { RunLimited } from '@rapport/core/kernel/limit-concurrency.ts'
import type { Tracer } from '@rapport/core/runtime/tracer.ts'
import type { QueueName, WorkJob } from '@rapport/core/jobs/queues.ts'
import type { Logger } from 'pino'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import type { ConcurrencyMemory } from './webhook-delivery/concurrency.ts'
import type { FairSlots } from './webhook-delivery/fair-slots.ts'
import type { MailRateLimiter } from './smtp/mail-rate-limiter.ts'
import type { MailTransport } from './smtp/mail-transport.ts'
import type { WorkerMetrics } from './observability/metrics.ts'
import type { OutboundHttp } from './webhook-delivery/outbound-http.ts'
import type { DrainCooldown } from './webhook-delivery/drain-cooldown.ts'
import type { RequestCapacity } from './webhook-delivery/request-capacity.ts'

/** The dependencies of every job. */
export interface WorkerDeps {
  db: Db
  settings: Settings
  workerId: string
  mail: MailTransport
  mailRateLimiter: MailRateLimiter
  http: OutboundHttp
  /** The jobs that drain webhooks have a place each; those of unreachable receivers another one of few. */
  drainSlots: FairSlots
  unreachableSlots: FairSlots
  requestCapacity: RequestCapacity
  /** Leaves connections of the pool to other jobs and to the heartbeat. */
  limitDrainTransactions: RunLimited
  concurrency: ConcurrencyMemory
  drainCooldown: DrainCooldown
  /** Adds a job for the webhook's backlog, behind those of other webhooks. */
  requeueDrain: (job: WorkJob) => Promise<void>
  log: Logger
  /** Undefined if no traces are collected. */
  tracer: Tracer | undefined
  metrics: WorkerMetrics
  /** Aborted when the worker shuts down: long jobs release and requeue the rest of their work. */
  stopping: AbortSignal
  /** The jobs that run in this process, by the UUID of their subject. */
  activeJobs: Map<string, Promise<void>>
}

/** The context of a job: the actor is the system, the workspace is that of the job's subject. */
export function ctxOf(deps: WorkerDeps, job: WorkJob): Ctx {
  return {
    db: deps.db,
    settings: deps.settings,
    workspaceId: job.workspaceId,
    actor: { kind: 'system' },
    requestId: job.requestId ?? job.id,
    ...(job.traceparent && { traceparent: job.traceparent }),
  }
}

/** Runs a job in a span whose parent is the request's. `work` receives the job with this span as its `traceparent`. */
export async function runTraced<Result>(
  { tracer }: Pick<WorkerDeps, 'tracer'>,
  { queue, job }: { queue: QueueName; job: WorkJob },
  work: (job: WorkJob) => Promise<Result>,
): Promise<Result> {
  if (!tracer) return work(job)
  const attributes = { 'messaging.destination.name': queue, 'rapport.request_id': job.requestId ?? job.id }
  const span = tracer.start(`process ${queue}`, { kind: 'consumer', parent: job.traceparent, attributes })
  let hasFailed = true
  try {
    const result = await work({ ...job, traceparent: span.traceparent })
    hasFailed = false
    return result
  } finally {
    span.end({ hasFailed })
  }
}

/**
 * Runs `work` after every other job of this process with the same subject has ended. A claim names the process, not the
 * job, so two concurrent jobs could not distinguish their claims. The later job waits and is not dropped: the earlier one
 * may have released the subject already.
 */
export async function runExclusively(
  deps: Pick<WorkerDeps, 'activeJobs'>,
  id: string,
  work: () => Promise<void>,
): Promise<void> {
  for (let other = deps.activeJobs.get(id); other; other = deps.activeJobs.get(id)) await other.catch(() => {})
  const running = work()
  deps.activeJobs.set(id, running)
  try {
    await running
  } finally {
    deps.activeJobs.delete(id)
  }
}

/** If the claim fails, it may be committed all the same: undoes it, and throws so that the queue retries the job. */
export async function claimOrRelease<Claim>(claim: () => Promise<Claim>, release: () => Promise<void>): Promise<Claim> {
  try {
    return await claim()
  } catch (error) {
    await retryWhileDatabaseDown(release)
    throw error
  }
}
