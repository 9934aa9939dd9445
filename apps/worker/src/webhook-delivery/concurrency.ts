import { LRUCache } from 'lru-cache'
import type { WebhookId } from '@rapport/core/kernel/ids.ts'

const maxConcurrency = 20
/** A slow receiver leaves most of its workspace's request capacity to other webhooks. */
const [slowMs, maxConcurrencyIfSlow] = [1_000, 5]
const rememberedWebhooks = 10_000

/** The number of concurrent requests per webhook. It is held in memory only: a new worker starts with one. */
export interface ConcurrencyMemory {
  get(webhookId: WebhookId): number
  /** Updates the concurrency of a webhook after a round of attempts. */
  adapt(webhookId: WebhookId, round: Round): void
}

type Round = readonly { responseStatus: number | null; durationMs?: number | null }[]

/** Doubles the concurrency after a round of responses. Resets it to one after a timeout or a failed connection. */
export function nextConcurrency(concurrency: number, round: Round): number {
  if (round.some(({ responseStatus }) => responseStatus === null)) return 1
  const isSlow = round.some(({ durationMs }) => (durationMs ?? 0) > slowMs)
  return Math.min(concurrency * 2, isSlow ? maxConcurrencyIfSlow : maxConcurrency)
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
