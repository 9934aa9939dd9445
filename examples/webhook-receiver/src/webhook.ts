/** Finds or creates the webhook of this receiver. */
import { NotFoundError, type Rapport, type WebhookEvent } from '@rapport/sdk'
import type { Store } from './store.ts'

export const eventTypes = ['contact.created', 'contact.updated', 'deal.won'] satisfies WebhookEvent['type'][]

export interface WebhookWithSecret {
  id: string
  secret: string
}

/** Returns the stored webhook if it still exists, the one with this URL, or a new one. */
export async function findOrCreateWebhook(rapport: Rapport, store: Store, url: string): Promise<WebhookWithSecret> {
  // A workspace has at most 50, so they are all on the first page.
  const { data: webhooks } = await rapport.webhooks.list({ limit: 100 })
  const [id, secret] = [store.readSetting('webhookId'), store.readSetting('secret')]
  if (id && secret && webhooks.some((webhook) => webhook.id === id)) return { id, secret }

  // A secret is only in the response that creates it. If it was lost, the webhook needs a new one.
  const existing = webhooks.find((webhook) => webhook.url === url)
  const webhook = existing
    ? await rapport.webhooks.rotateSecret(existing.id)
    : await rapport.webhooks.create({ url, eventTypes })
  store.saveSetting('secret', webhook.secret)
  store.saveSetting('webhookId', webhook.id)
  return webhook
}

/** Returns the id of the event after which the feed is read, null for its beginning. */
export async function findPosition(rapport: Rapport, store: Store): Promise<string | null> {
  const position = store.readSetting('position')
  if (position === undefined) {
    const { data } = await rapport.events.list({ limit: 1 })
    const newest = data[0]?.id ?? null
    store.saveSetting('position', newest)
    return newest
  }
  if (position === null) return null
  try {
    return (await rapport.events.get(position)).id
  } catch (error) {
    // After more than 30 days without this program, the feed no longer has the event. All that it has are newer.
    if (error instanceof NotFoundError) return null
    throw error
  }
}
