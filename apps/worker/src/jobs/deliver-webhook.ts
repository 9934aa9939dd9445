import { requeueWork, wakeRelays } from '@rapport/core/outbox.ts'
import type { WorkJob } from '@rapport/core/queues.ts'
import {
  abandonDelivery,
  type ClaimedDelivery,
  type DeliveryOutcome,
  signatureHeaders,
  undoDeliveryClaim,
  type WantedDelivery,
} from '@rapport/core/webhooks/deliveries.ts'
import type { HttpOutcome } from '../outbound-http.ts'
import { claimOrUndo, keepTrying, type Tools, whileInHand } from '../tools.ts'

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
      wanted = await deliverOne(tools, current, goesOn)
    })
  }
}

/** Answers what comes next in the same lane. */
async function deliverOne(
  tools: Tools,
  wanted: WantedDelivery,
  goesOn: () => boolean,
): Promise<WantedDelivery | undefined> {
  const { id, workspaceId } = wanted
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
  const outcome = toOutcome(await attempt(tools, delivery))
  return keepTrying(() => tools.deliveries.settle({ id, workspaceId, outcome, goesOn: goesOn() }))
}

async function attempt(tools: Tools, delivery: ClaimedDelivery): Promise<HttpOutcome> {
  try {
    const headers = signatureHeaders(tools.settings, delivery)
    return await tools.http.post(delivery.url, { headers, body: delivery.body })
  } catch (error) {
    tools.log.error({ err: error, deliveryId: delivery.uuid }, 'a delivery could not be signed')
    return { status: null, body: null, durationMs: 0, error: 'The delivery could not be signed' }
  }
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
