import { idOf } from '@rapport/core/ids.ts'
import { requeueWork, wakeRelays } from '@rapport/core/outbox.ts'
import type { WorkJob } from '@rapport/core/queues.ts'
import { abandonDelivery } from '@rapport/core/webhooks/abandoned-deliveries.ts'
import {
  type ClaimedDelivery,
  type DeliveryOutcome,
  signatureHeaders,
  undoDeliveryClaim,
  type WantedDelivery,
} from '@rapport/core/webhooks/deliveries.ts'
import type { HttpOutcome } from '../outbound-http.ts'
import { claimOrUndo, keepTrying, type Tools, traced, whileInHand } from '../tools.ts'

/** For how long a job goes on with what waits behind its delivery, before others have their turn. */
const turnMs = 1_000

/**
 * Makes the one attempt of a delivery, if nobody has made it yet, and records how it ended; then, for a while, of those
 * that wait in its lane. So a backlog takes no way through the queue for each, and nobody is kept waiting for its end.
 */
export async function deliverWebhook(tools: Tools, job: WorkJob): Promise<void> {
  const endsAt = performance.now() + turnMs
  const goesOn = () => performance.now() < endsAt && !tools.stopping.aborted
  for (let wanted: WantedDelivery | undefined = job; wanted; ) {
    const current: WantedDelivery = wanted
    wanted = undefined
    await whileInHand(tools, current.id, async () => {
      wanted = await traced(tools, { queue: 'webhooks', job: current }, (job) => deliverOne(tools, job, goesOn))
    })
  }
}

/** Answers what comes next in the same lane. */
async function deliverOne(
  tools: Tools,
  wanted: WantedDelivery,
  goesOn: () => boolean,
): Promise<WantedDelivery | undefined> {
  const { id, workspaceId, requestId } = wanted
  const delivery = await claimOrUndo(
    () => tools.deliveries.claim(wanted),
    async () => {
      await undoDeliveryClaim(tools.db, tools.workerId, wanted)
      // No job was made of it that would come again.
      if (wanted.epoch !== undefined) await requeueWork(tools.db, [id])
    },
  )
  if (!delivery) {
    await abandonDelivery(tools.db, wanted)
    // Another worker was faster, and this one's place in the lane is free.
    if (wanted.epoch !== undefined) await wakeRelays(tools.db)
    return undefined
  }
  const outcome = toOutcome(await attempt(tools, delivery, wanted))
  tools.metrics.deliveries.inc({ outcome: outcome.status === 'SUCCEEDED' ? 'succeeded' : 'failed' })
  tools.metrics.deliverySeconds.observe(outcome.durationMs / 1_000)
  const { status, durationMs, responseStatus, error } = outcome
  const said = { requestId, deliveryId: idOf('dlv', id), eventId: delivery.eventId, responseStatus, durationMs }
  if (status === 'SUCCEEDED') tools.log.debug(said, 'a delivery succeeded')
  else tools.log.info({ ...said, reason: error }, 'a delivery failed')
  return keepTrying(() => tools.deliveries.settle({ id, workspaceId, outcome, goesOn: goesOn() }))
}

async function attempt(
  tools: Tools,
  delivery: ClaimedDelivery,
  { traceparent, requestId }: WorkJob,
): Promise<HttpOutcome> {
  const { host } = new URL(delivery.url)
  const span = tools.tracer?.start('POST', {
    kind: 'client',
    parent: traceparent,
    attributes: { 'http.request.method': 'POST', 'server.address': host },
  })
  const outcome = await post(tools, delivery, span ? { traceparent: span.traceparent } : {}).catch((error: unknown) => {
    tools.log.error({ err: error, requestId, deliveryId: delivery.uuid }, 'a delivery could not be signed')
    return { status: null, body: null, durationMs: 0, error: 'The delivery could not be signed' }
  })
  const attributes = outcome.status === null ? {} : { 'http.response.status_code': outcome.status }
  span?.end({ hasFailed: outcome.error !== null, attributes })
  return outcome
}

async function post({ http, settings }: Tools, delivery: ClaimedDelivery, trace: Record<string, string>) {
  const headers = { ...signatureHeaders(settings, delivery), ...trace }
  return http.post(delivery.url, { headers, body: delivery.body })
}

function toOutcome({ status, body, error, durationMs }: HttpOutcome): DeliveryOutcome {
  return {
    status: error === null ? 'SUCCEEDED' : 'FAILED',
    durationMs,
    responseStatus: status,
    responseBody: body,
    error,
  }
}
