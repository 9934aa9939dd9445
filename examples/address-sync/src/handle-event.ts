import type { WebhookEvent } from '@rapport/sdk'
import type { Product } from './product.ts'

/** Applies a changed address to the product. Returns what it did, in a line. */
export function handleEvent(product: Product, event: WebhookEvent): string {
  // A test of the webhook.
  if (event.type !== 'contact.updated') return `${event.type}: ignored`
  const { data } = event
  // The contact was deleted before the event was sent.
  if ('redacted' in data) return `${data.id}: deleted`
  if (data.externalId === null || data.email === null) return `${data.id}: is no customer, or has no address`
  // `changes` is null if it is very large. `data` has the new address in every case.
  const { from = null, to = data.email } = data.changes?.email ?? {}
  const change = {
    eventId: event.id,
    customerId: data.externalId,
    from,
    to: to ?? data.email,
    updatedAt: data.updatedAt,
  }
  if (!product.changeAddress(change)) return `${change.customerId}: unchanged`
  return `${change.customerId}: ${from ?? 'unknown'} → ${change.to}`
}
