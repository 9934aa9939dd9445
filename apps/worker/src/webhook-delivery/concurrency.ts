import { LRUCache } from 'lru-cache'
import type { WebhookId } from '@rapport/core/kernel/ids.ts'

const maxConcurrency = 20
/** A slow receiver leaves most requests of its workspace to others. */
const [slowMs, maxConcurrencyOfSlow] = [1_000, 5]
const rememberedWebhooks = 10_000

/** How many requests a receiver gets side by side. In this worker's memory alone: a new worker starts with one. */
export interface ConcurrencyMemory {
  get(webhookId: WebhookId): number
  /** Adapts it to a round of attempts. */
  adapt(webhookId: WebhookId, round: Round): void
}

type Round = readonly { responseStatus: number | null; durationMs?: number | null }[]

/** One request at a time for a receiver that times out or refuses the connection; twice as many after each round of responses. */
export function nextConcurrency(concurrency: number, round: Round): number {
  if (round.some(({ responseStatus }) => responseStatus === null)) return 1
  const isSlow = round.some(({ durationMs }) => (durationMs ?? 0) > slowMs)
  return Math.min(concurrency * 2, isSlow ? maxConcurrencyOfSlow : maxConcurrency)
}

export function createConcurrencyMemory(): ConcurrencyMemory {
  const concurrencies = new LRUCache<WebhookId, number>({ max: rememberedWebhooks })
  const get = (webhookId: WebhookId) => concurrencies.get(webhookId) ?? 1
  return {
    get,
    adapt(webhookId, round) {
      if (round.length > 0) concurrencies.set(webhookId, nextConcurrency(get(webhookId), round))
    },
  }
}
