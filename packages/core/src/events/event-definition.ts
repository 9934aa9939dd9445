import type { z } from 'zod'
import type { ContactId, IdOf, IdPrefix } from '../kernel/ids.ts'

/** Every type that a webhook can subscribe to. The names only: the schemas belong to the slices. */
export const eventTypes = [
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'contact.merged',
  'form.submitted',
  'subscription.created',
  'subscription.confirmed',
  'subscription.unsubscribed',
  'deal.created',
  'deal.updated',
  'deal.stage_changed',
  'deal.won',
  'deal.lost',
  'deal.deleted',
  'task.created',
  'task.completed',
  'task.deleted',
  'campaign.sending',
  'campaign.sent',
  'campaign.canceled',
  'import.completed',
  'mail.bounced',
  'mail.complained',
  'webhook.disabled',
] as const
export type EventType = (typeof eventTypes)[number]

/** `webhook.test` is emitted to a single webhook, which cannot subscribe to it. */
export type EmittedType = EventType | 'webhook.test'

/** An event belongs to a contact's timeline by its `contactId`, or by its `id` if it is a contact's own event. */
export interface EventSubject {
  id?: IdOf<IdPrefix>
  contactId?: ContactId | null
}

export interface EventDefinition<Data extends EventSubject, Type extends EmittedType = EmittedType> {
  readonly type: Type
  /** Needs an `id` and an example in its `meta`, which the API documents. */
  readonly schema: z.ZodType<Data>
  /** Of `data`, if the first example of the schema does not fit the type. */
  readonly example?: unknown
}

/** An event of a slice. `emit` takes the definition and checks `data` against its type. */
export function defineEvent<Data extends EventSubject, Type extends EmittedType>(
  type: Type,
  schema: z.ZodType<Data>,
  example?: unknown,
): EventDefinition<Data, Type> {
  return { type, schema, example }
}
