import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import type { WebhookId } from '@rapport/core/kernel/ids.ts'
import type { EndedDelivery } from '@rapport/core/webhooks/drain/delivery-outcome.ts'
import type { TakenDelivery } from '@rapport/core/webhooks/drain/take-deliveries.ts'

/** The requests of a drain whose outcomes are not collected yet. */
export interface RequestsInFlight {
  start(deliveries: readonly TakenDelivery[]): void
  /**
   * Waits until a request ends, and then a moment for others, so that their outcomes are recorded together. Returns the
   * outcomes in the order in which the requests ended; none after `maxWaitMs`, or after `endWait`. Rejects if an
   * attempt does.
   */
  collectEnded(maxWaitMs: number): Promise<EndedDelivery[]>
  /** Ends the wait of this or the next `collectEnded`, because there are new deliveries. */
  endWait: () => void
  /** Whether `endWait` was called after the last `collectEnded`. */
  hasNewDeliveries(): boolean
  /** The UUIDs of the deliveries. */
  uuids(): string[]
  countByWebhook(): Map<WebhookId, number>
  /** Resolves when all requests have ended. */
  waitForAll(): Promise<unknown>
}

interface Options {
  attempt: (delivery: TakenDelivery) => Promise<EndedDelivery>
  /** The longest wait for other requests. */
  batchMs: number
}

export function createRequestsInFlight({ attempt, batchMs }: Options): RequestsInFlight {
  const inFlight = new Map<string, { webhookId: WebhookId; round: number; request: Promise<void> }>()
  let round = 0
  let ended: EndedDelivery[] = []
  let failure: { error: unknown } | undefined
  let hasNewDeliveries = false
  let awaited = { count: 0, ...Promise.withResolvers<void>() }

  function whenEnded(count: number): Promise<void> {
    awaited = { count, ...Promise.withResolvers<void>() }
    if (failure || hasNewDeliveries || ended.length >= count) awaited.resolve()
    return awaited.promise
  }

  /** The requests that started with those that have ended, or later: an older one may take seconds. */
  function countSinceEnded(): number {
    const first = Math.min(...ended.map(({ uuid }) => inFlight.get(uuid)?.round ?? round))
    return [...inFlight.values()].filter((request) => request.round >= first).length
  }

  async function send(delivery: TakenDelivery): Promise<void> {
    try {
      const outcome = await attempt(delivery)
      ended.push(outcome)
      if (ended.length >= awaited.count) awaited.resolve()
    } catch (error) {
      failure = { error }
      awaited.resolve()
    }
  }

  return {
    start(deliveries) {
      round += 1
      for (const delivery of deliveries) {
        inFlight.set(delivery.uuid, { webhookId: delivery.webhookId, round, request: send(delivery) })
      }
    },
    async collectEnded(maxWaitMs) {
      await withTimeout(whenEnded(1), maxWaitMs).catch(() => {})
      if (ended.length > 0) await withTimeout(whenEnded(countSinceEnded()), batchMs).catch(() => {})
      if (failure) throw failure.error
      const collected = ended
      ended = []
      hasNewDeliveries = false
      for (const { uuid } of collected) inFlight.delete(uuid)
      return collected
    },
    endWait() {
      hasNewDeliveries = true
      awaited.resolve()
    },
    hasNewDeliveries: () => hasNewDeliveries,
    uuids: () => [...inFlight.keys()],
    countByWebhook() {
      const counts = new Map<WebhookId, number>()
      for (const { webhookId } of inFlight.values()) counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1)
      return counts
    },
    waitForAll: () => Promise.all([...inFlight.values()].map(({ request }) => request)),
  }
}
