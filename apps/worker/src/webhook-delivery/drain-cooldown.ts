import { LRUCache } from 'lru-cache'

const cooldownMs = 1_000

/**
 * Webhooks whose last job was skipped within the past second. During this time, notifications of new deliveries add no
 * job for them; the poll finds their backlogs.
 */
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
