import { idOf, type WebhookId, type WorkspaceId } from '@rapport/core/kernel/ids.ts'
import type { DeliveryOutcome, EndedDelivery } from '@rapport/core/webhooks/drain/delivery-outcome.ts'
import { signatureHeaders } from '@rapport/core/webhooks/drain/signed-delivery.ts'
import type { TakenDelivery } from '@rapport/core/webhooks/drain/take-deliveries.ts'
import type { Logger } from 'pino'
import { runTraced, type WorkerDeps } from '../process/worker-deps.ts'
import type { Connections, HttpOutcome } from '../webhook-delivery/outbound-http.ts'
import { type Timestamp, timestampNow } from '@rapport/core/kernel/values/timestamps.ts'

const unsignedError = 'Not sent: the secret of the webhook cannot be decrypted with SECRET_KEY'

/** Logs once per webhook that its deliveries cannot be signed: each drain finds out again, up to once a second. */
export function createUnsignedLog(log: Logger): (webhookId: WebhookId, error: unknown) => void {
  const logged = new Set<WebhookId>()
  return (webhookId, error) => {
    if (logged.has(webhookId)) return
    logged.add(webhookId)
    log.error({ err: error, webhookId }, 'deliveries cannot be signed: add the former key to SECRET_KEY_PREVIOUS')
  }
}

type AttemptDeps = Pick<WorkerDeps, 'settings' | 'logUnsigned' | 'tracer' | 'metrics' | 'log'>

/** The workspace of the attempts, and the connections to use. */
export interface Destination {
  workspaceId: WorkspaceId
  connections: Connections
}

/**
 * Makes the only attempt of a delivery. Never rejects: an error becomes the outcome. A delivery that cannot be signed
 * stays PENDING, and its webhook is paused.
 */
export function attemptDelivery(
  deps: AttemptDeps,
  destination: Destination,
  delivery: TakenDelivery,
): Promise<EndedDelivery> {
  const { uuid, webhookId, requestId, traceparent } = delivery
  const job = { workspaceId: destination.workspaceId, id: uuid, requestId, traceparent }
  return runTraced(deps, { queue: 'webhooks', job }, async (job) => {
    const outcome = await attempt(deps, destination, { ...delivery, traceparent: job.traceparent ?? null })
    countOutcome(deps, delivery, outcome)
    return { uuid, webhookId, outcome }
  })
}

async function attempt(
  deps: AttemptDeps,
  { connections }: Destination,
  delivery: TakenDelivery,
): Promise<DeliveryOutcome> {
  const { webhookId, receiver, body, eventId } = delivery
  if (body === undefined) return withoutAttempt('FAILED', 'The event no longer exists')
  let headers: Record<string, string>
  try {
    headers = signatureHeaders(deps.settings, { webhookId, receiver, eventId, body })
  } catch (error) {
    deps.logUnsigned(webhookId, error)
    return withoutAttempt('PENDING', unsignedError)
  }
  const span = deps.tracer?.start('POST', {
    kind: 'client',
    parent: delivery.traceparent,
    attributes: { 'http.request.method': 'POST', 'server.address': new URL(receiver.url).host },
  })
  const attemptedAt = timestampNow()
  if (span) headers['traceparent'] = span.traceparent
  const outcome = toOutcome(await connections.post(receiver.url, { headers, body }), attemptedAt)
  const attributes = outcome.responseStatus === null ? {} : { 'http.response.status_code': outcome.responseStatus }
  span?.end({ hasFailed: outcome.error !== null, attributes })
  return outcome
}

const withoutAttempt = (status: 'FAILED' | 'PENDING', error: string): DeliveryOutcome => ({
  status,
  attemptedAt: null,
  durationMs: null,
  responseStatus: null,
  responseBody: null,
  error,
})

function toOutcome({ status, body, error, durationMs }: HttpOutcome, attemptedAt: Timestamp): DeliveryOutcome {
  return {
    status: error === null ? 'SUCCEEDED' : 'FAILED',
    attemptedAt,
    durationMs,
    responseStatus: status,
    responseBody: body,
    error,
  }
}

function countOutcome(
  { metrics, log }: AttemptDeps,
  { uuid, eventId, requestId }: TakenDelivery,
  outcome: DeliveryOutcome,
): void {
  const { status, durationMs, responseStatus, error } = outcome
  if (status === 'PENDING') return
  metrics.deliveries.inc({ outcome: status === 'SUCCEEDED' ? 'succeeded' : 'failed' })
  if (durationMs !== null) metrics.deliverySeconds.observe(durationMs / 1_000)
  const details = { requestId, deliveryId: idOf('dlv', uuid), eventId, responseStatus, durationMs }
  if (status === 'SUCCEEDED') log.debug(details, 'delivery succeeded')
  else log.info({ ...details, reason: error }, 'delivery failed')
}
