import type { Ctx, Settings } from '@rapport/core/request/context.ts'
import type { Retention } from '@rapport/core/kernel/retention.ts'
import type { Db } from '@rapport/core/db/client.ts'
import type { Tracer } from '@rapport/core/runtime/tracer.ts'
import type { WebhookId, WorkspaceId } from '@rapport/core/kernel/ids.ts'
import type { QueueName, WorkJob } from '@rapport/core/work/queues.ts'
import type { Logger } from 'pino'
import type { ReceiverMemory } from '../webhook-delivery/receiver-memory.ts'
import type { QuotaCache } from '@rapport/core/quotas/quota-cache.ts'
import type { MailRateLimiter } from '../smtp/mail-rate-limiter.ts'
import type { CountedMailTransport, WorkerMetrics } from './metrics.ts'
import type { OutboundHttp } from '../webhook-delivery/outbound-http.ts'
import type { JobShares } from '../jobs/job-shares.ts'
import type { WorkerTimings } from './worker-timings.ts'

/** The dependencies of every job. */
export interface WorkerDeps {
  db: Db
  settings: Settings
  retention: Retention
  workerId: string
  mail: CountedMailTransport
  mailRateLimiter: MailRateLimiter
  http: OutboundHttp
  /** The number of webhook requests that a workspace may have in flight. */
  webhookQuota: QuotaCache
  /** The workspaces that this worker drains now, with the function that makes the drain look for new deliveries. */
  drains: { readonly active: Map<WorkspaceId, () => void>; readonly max: number }
  /** The most rows of an import in one transaction, if fewer than usual. */
  importRows?: number
  receivers: ReceiverMemory
  /** Adds a job for the rest of a workspace's backlog, at the end of the queue. */
  requeueDrain: (job: WorkJob) => Promise<void>
  log: Logger
  /** See `createUnsignedLog`. */
  logUnsigned: (webhookId: WebhookId, error: unknown) => void
  /** Undefined if tracing is disabled. */
  tracer: Tracer | undefined
  metrics: WorkerMetrics
  timings: WorkerTimings
  /** Aborted when the worker shuts down: long-running jobs release and requeue the rest of their work. */
  stopping: AbortSignal
  /** Which jobs for single mails run. */
  jobShares: JobShares
  /** The claims of this process, each entered before it is sent and removed after its end is confirmed. */
  liveClaims: Set<{ readonly tokens: readonly string[] }>
}

/** The context of a job. The actor is the system. */
export function ctxOf(deps: Pick<WorkerDeps, 'db' | 'settings'>, job: Omit<WorkJob, 'kind'>): Ctx {
  return {
    db: deps.db,
    settings: deps.settings,
    workspaceId: job.workspaceId,
    actor: { kind: 'system' },
    requestId: job.requestId ?? job.id,
    ...(job.traceparent && { traceparent: job.traceparent }),
  }
}

/** Runs a job in a child span of the request. `work` receives the job with this span as its `traceparent`. */
export async function runTraced<Result, Job extends Pick<WorkJob, 'id' | 'requestId' | 'traceparent'>>(
  { tracer }: Pick<WorkerDeps, 'tracer'>,
  { queue, job }: { queue: QueueName; job: Job },
  work: (job: Job) => Promise<Result>,
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
