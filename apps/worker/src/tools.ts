import type { Ctx, Settings } from '@rapport/core/request/context.ts'
import type { Db } from '@rapport/core/db/client.ts'
import type { Tracer } from '@rapport/core/runtime/tracer.ts'
import type { QueueName, WorkJob } from '@rapport/core/jobs/queues.ts'
import type { Logger } from 'pino'
import { keepTrying } from './keep-trying.ts'
import type { DeliveryDesk } from './webhook-delivery/delivery-desk.ts'
import type { MailPace } from './smtp/mail-pace.ts'
import type { MailTransport } from './smtp/mail-transport.ts'
import type { WorkerMetrics } from './operations/metrics.ts'
import type { OutboundHttp } from './webhook-delivery/outbound-http.ts'
import type { QuickLanes } from './webhook-delivery/quick-lanes.ts'

/** What every job is given. */
export interface Tools {
  db: Db
  settings: Settings
  workerId: string
  mail: MailTransport
  pace: MailPace
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
  inHand: Map<string, Promise<void>>
}

/** The context of a job: on behalf of nobody, in the workspace of its subject. */
export function ctxOf(tools: Tools, job: WorkJob): Ctx {
  return {
    db: tools.db,
    settings: tools.settings,
    workspaceId: job.workspaceId,
    actor: { kind: 'system' },
    requestId: job.requestId ?? job.id,
    ...(job.traceparent && { traceparent: job.traceparent }),
  }
}

/** Does a job under a span that goes on from the request's; `work` is given the job as it goes on from there itself. */
export async function traced<Result>(
  { tracer }: Pick<Tools, 'tracer'>,
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
export async function whileInHand(tools: Pick<Tools, 'inHand'>, id: string, work: () => Promise<void>): Promise<void> {
  for (let other = tools.inHand.get(id); other; other = tools.inHand.get(id)) await other.catch(() => {})
  const working = work()
  tools.inHand.set(id, working)
  try {
    await working
  } finally {
    tools.inHand.delete(id)
  }
}

/**
 * A claim whose answer was lost may have been made all the same. As nothing was done on the strength of it, it is
 * taken back, and the error thrown on so that the job comes again.
 */
export async function claimOrUndo<Claim>(claim: () => Promise<Claim>, undo: () => Promise<void>): Promise<Claim> {
  try {
    return await claim()
  } catch (error) {
    await keepTrying(undo)
    throw error
  }
}
