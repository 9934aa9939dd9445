import { LRUCache } from 'lru-cache'

/**
 * Webhooks whose last job was skipped within the cooldown. During this time, notifications of new deliveries add no
 * job for them; the poll finds their backlogs.
 */
export interface DrainCooldown {
  start(webhookUuid: string): void
  isActive(webhookUuid: string): boolean
}

export function createDrainCooldown(cooldownMs: number): DrainCooldown {
  const webhooks = new LRUCache<string, true>({ max: 10_000, ttl: cooldownMs })
  return {
    start: (webhookUuid) => void webhooks.set(webhookUuid, true),
    isActive: (webhookUuid) => webhooks.has(webhookUuid),
  }
}
