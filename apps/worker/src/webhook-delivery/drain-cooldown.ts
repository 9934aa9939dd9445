import { LRUCache } from 'lru-cache'

const cooldownMs = 1_000

/** Webhooks that could not be drained a moment ago: notifications of new deliveries add no job for them, the poll does. */
export interface DrainCooldown {
  start(webhookUuid: string): void
  isActive(webhookUuid: string): boolean
}

export function createDrainCooldown(): DrainCooldown {
  const webhooks = new LRUCache<string, true>({ max: 10_000, ttl: cooldownMs })
  return {
    start: (webhookUuid) => void webhooks.set(webhookUuid, true),
    isActive: (webhookUuid) => webhooks.has(webhookUuid),
  }
}
