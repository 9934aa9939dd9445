import type { WorkJob } from '@rapport/core/queues.ts'
import {
  claimDelivery,
  type ClaimedDelivery,
  settleDelivery,
  signatureHeaders,
  undoDeliveryClaim,
} from '@rapport/core/webhooks/deliveries.ts'
import type { HttpOutcome } from '../outbound-http.ts'
import { claimOrUndo, ctxOf, keepTrying, type Tools, whileInHand } from '../tools.ts'

/** Makes the one attempt of a delivery, if nobody has made it yet, and records how it ended. */
export function deliverWebhook(tools: Tools, job: WorkJob): Promise<void> {
  return whileInHand(tools, job.id, async () => {
    const ctx = ctxOf(tools, job)
    const delivery = await claimOrUndo(
      () => claimDelivery(ctx, job.id, tools.workerId),
      () => undoDeliveryClaim(ctx, job.id, tools.workerId),
    )
    if (!delivery) return
    const { status, body, error, durationMs } = await attempt(delivery)
    const outcome = {
      status: error === null ? ('SUCCEEDED' as const) : ('FAILED' as const),
      durationMs,
      responseStatus: status,
      responseBody: body,
      error,
    }
    await keepTrying(() => settleDelivery(ctx, { uuid: job.id, workerId: tools.workerId }, outcome))

    async function attempt(delivery: ClaimedDelivery): Promise<HttpOutcome> {
      try {
        const headers = {
          'content-type': 'application/json',
          'user-agent': 'Rapport',
          ...signatureHeaders(ctx, delivery),
        }
        return await tools.http.post(delivery.url, { headers, body: delivery.body })
      } catch (error) {
        tools.log.error({ err: error, deliveryId: job.id }, 'a delivery could not be signed')
        return { status: null, body: null, durationMs: 0, error: 'The delivery could not be signed' }
      }
    }
  })
}
