import { idOf, type WebhookId, type WorkspaceId } from '@rapport/core/kernel/ids.ts'
import type { TakenDelivery } from '@rapport/core/webhooks/drain/backlog-claim.ts'
import type { DeliveryOutcome, EndedDelivery } from '@rapport/core/webhooks/drain/record-outcomes.ts'
import { type Receiver, signatureHeaders } from '@rapport/core/webhooks/drain/signed-delivery.ts'
import { runTraced, type WorkerDeps } from '../worker-deps.ts'
import type { Connections, HttpOutcome } from './outbound-http.ts'

/** The receiver of the attempts, and the connections to use. */
export interface Destination {
  workspaceId: WorkspaceId
  webhookId: WebhookId
  receiver: Receiver
  connections: Connections
}

/** Makes the only attempt of a delivery. Never rejects: an error becomes the outcome. */
export function attemptDelivery(
  deps: WorkerDeps,
  destination: Destination,
  delivery: TakenDelivery,
): Promise<EndedDelivery> {
  const { uuid, requestId, traceparent } = delivery
  const job = { workspaceId: destination.workspaceId, id: uuid, requestId, traceparent }
  return runTraced(deps, { queue: 'webhooks', job }, async (job) => {
    const outcome = await attempt(deps, destination, { ...delivery, traceparent: job.traceparent ?? null })
    countOutcome(deps, delivery, outcome)
    return { uuid, outcome }
  })
}

async function attempt(deps: WorkerDeps, destination: Destination, delivery: TakenDelivery): Promise<DeliveryOutcome> {
  const { body, eventId, requestId, uuid } = delivery
  if (body === undefined) return failure('The event no longer exists', null)
  const { receiver, connections } = destination
  const span = deps.tracer?.start('POST', {
    kind: 'client',
    parent: delivery.traceparent,
    attributes: { 'http.request.method': 'POST', 'server.address': new URL(receiver.url).host },
  })
  const attemptedAt = new Date()
  let outcome: DeliveryOutcome
  try {
    const headers = {
      ...signatureHeaders(deps.settings, { ...destination, eventId, body }),
      ...(span && { traceparent: span.traceparent }),
    }
    outcome = toOutcome(await connections.post(receiver.url, { headers, body }), attemptedAt)
  } catch (error) {
    deps.log.error({ err: error, requestId, deliveryId: idOf('dlv', uuid) }, 'delivery could not be signed')
    outcome = failure('The delivery could not be signed', attemptedAt)
  }
  const attributes = outcome.responseStatus === null ? {} : { 'http.response.status_code': outcome.responseStatus }
  span?.end({ hasFailed: outcome.error !== null, attributes })
  return outcome
}

const failure = (error: string, attemptedAt: Date | null): DeliveryOutcome => ({
  status: 'FAILED',
  attemptedAt,
  durationMs: attemptedAt && 0,
  responseStatus: null,
  responseBody: null,
  error,
})

function toOutcome({ status, body, error, durationMs }: HttpOutcome, attemptedAt: Date): DeliveryOutcome {
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
  { metrics, log }: WorkerDeps,
  { uuid, eventId, requestId }: TakenDelivery,
  outcome: DeliveryOutcome,
): void {
  const { status, durationMs, responseStatus, error } = outcome
  metrics.deliveries.inc({ outcome: status === 'SUCCEEDED' ? 'succeeded' : 'failed' })
  if (durationMs !== null) metrics.deliverySeconds.observe(durationMs / 1_000)
  const details = { requestId, deliveryId: idOf('dlv', uuid), eventId, responseStatus, durationMs }
  if (status === 'SUCCEEDED') log.debug(details, 'delivery succeeded')
  else log.info({ ...details, reason: error }, 'delivery failed')
}
