import type { WebhookEvent } from '@rapport/sdk'
import type { Product } from './product.ts'

/** Applies a changed address to the product. Returns what it did, in a line. */
export function handleEvent(product: Product, event: WebhookEvent): string {
  // A test of the webhook.
  if (event.type !== 'contact.updated') return `${event.type}: ignored`
  // The contact was deleted before the event was sent.
  if ('redacted' in event.data) return `${event.data.id}: deleted`
  const { id, externalId: customerId, email: to, updatedAt, changes } = event.data
  if (customerId === null) return `${id}: is no customer`
  // `changes` is null if it is very large.
  const from = changes?.email?.from ?? null
  if (!product.changeAddress({ eventId: event.id, customerId, from, to, updatedAt })) return `${customerId}: unchanged`
  return `${customerId}: ${from ?? 'unknown'} → ${to}`
}
