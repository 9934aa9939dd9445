import { LRUCache } from 'lru-cache'

const postponedMs = 1_000

/** Webhooks that could not be drained a moment ago: notifications of new deliveries add no job for them, the poll does. */
export interface PostponedWebhooks {
  add(webhookUuid: string): void
  has(webhookUuid: string): boolean
}

export function createPostponedWebhooks(): PostponedWebhooks {
  const webhooks = new LRUCache<string, true>({ max: 10_000, ttl: postponedMs })
  return { add: (webhookUuid) => void webhooks.set(webhookUuid, true), has: (webhookUuid) => webhooks.has(webhookUuid) }
}
