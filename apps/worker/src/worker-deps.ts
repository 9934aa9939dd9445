import type { Ctx, Settings } from '@rapport/core/request/context.ts'
import type { Db } from '@rapport/core/db/client.ts'
import type { Tracer } from '@rapport/core/runtime/tracer.ts'
import type { QueueName, WorkJob } from '@rapport/core/jobs/queues.ts'
import type { Logger } from 'pino'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import type { DeliveryDesk } from './webhook-delivery/delivery-desk.ts'
import type { MailRateLimiter } from './smtp/mail-rate-limiter.ts'
import type { MailTransport } from './smtp/mail-transport.ts'
import type { WorkerMetrics } from './observability/metrics.ts'
import type { OutboundHttp } from './webhook-delivery/outbound-http.ts'
import type { QuickLanes } from './webhook-delivery/quick-lanes.ts'

/** What every job is given. */
export interface WorkerDeps {
  db: Db
  settings: Settings
  workerId: string
  mail: MailTransport
  pace: MailRateLimiter
  http: OutboundHttp
  deliveries: DeliveryDesk
  quickLanes: QuickLanes
  log: Logger
  /** Where traces are collected. */
  tracer: Tracer | undefined
  metrics: WorkerMetrics
  /** Aborted when the worker is to stop: long jobs put the rest of their work back. */
  stopping: AbortSignal
  /** What this process has in hand, by the id of its subject. */
  activeJobs: Map<string, Promise<void>>
}

/** The context of a job: on behalf of nobody, in the workspace of its subject. */
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

/** Does a job under a span that goes on from the request's; `work` is given the job as it goes on from there itself. */
export async function traced<Result>(
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
 * Runs `work` as soon as nothing else in this process has the same subject in hand: claims name the process, so that two
 * jobs of one subject at once would take each other's for their own. The second is not dropped, as the first may just be
 * handing the subject on.
 */
export async function runExclusively(
  deps: Pick<WorkerDeps, 'activeJobs'>,
  id: string,
  work: () => Promise<void>,
): Promise<void> {
  for (let other = deps.activeJobs.get(id); other; other = deps.activeJobs.get(id)) await other.catch(() => {})
  const working = work()
  deps.activeJobs.set(id, working)
  try {
    await working
  } finally {
    deps.activeJobs.delete(id)
  }
}

/**
 * A claim whose answer was lost may have been made all the same. As nothing was done on the strength of it, it is
 * taken back, and the error thrown on so that the job comes again.
 */
export async function claimOrRelease<Claim>(claim: () => Promise<Claim>, undo: () => Promise<void>): Promise<Claim> {
  try {
    return await claim()
  } catch (error) {
    await retryWhileDatabaseDown(undo)
    throw error
  }
}
