import { z } from 'zod'
import type { CompanyId, ContactId, IdOf, IdPrefix, ListId } from '../kernel/ids.ts'

/** The names of all event types that a webhook can subscribe to. Their schemas belong to the slices. */
export const eventTypes = [
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'contact.merged',
  'company.created',
  'company.updated',
  'company.deleted',
  'form.submitted',
  'subscription.created',
  'subscription.confirmed',
  'subscription.unsubscribed',
  'tracking_consent.changed',
  'deal.created',
  'deal.updated',
  'deal.stage_changed',
  'deal.won',
  'deal.lost',
  'deal.deleted',
  'task.created',
  'task.updated',
  'task.completed',
  'task.deleted',
  'note.created',
  'note.updated',
  'note.deleted',
  'list.deleted',
  'campaign.sending',
  'campaign.sent',
  'campaign.canceled',
  'import.completed',
  'template.paused',
  'email.sent',
  'email.failed',
  'email.interrupted',
  'email.skipped',
  'mail.bounced',
  'mail.complained',
  'confirmations.withheld',
  'domain.verified',
  'domain.failed',
  'webhook.disabled',
] as const
export type EventType = (typeof eventTypes)[number]

/** Webhooks cannot subscribe to `webhook.test`: it is emitted to a single webhook. */
export type EmittedType = EventType | 'webhook.test'

/**
 * Assigns an event to a contact's timeline: `id` for `contact.*` events, otherwise `contactId`, unless that contact was
 * erased. Assigns it to a company's timeline in the same way, but not `contact.*` events.
 */
export interface EventSubject {
  id?: IdOf<IdPrefix>
  contactId?: ContactId | null
  contactErasedAt?: string | null
  companyId?: CompanyId | null
  /** Of an event that is about a list as a whole. */
  listId?: ListId | null
}

/** Replaces the `data` of an event after its contact was deleted. */
export const RedactedRecord = z
  .object({
    id: z.string().describe('The id of the record, or of its contact if the record has no id of its own.'),
    redacted: z.literal(true).describe('Always `true`: distinguishes this from a record.'),
  })
  .meta({
    id: 'RedactedRecord',
    description: 'Replaces the `data` of an event that named a contact, after the contact was deleted.',
    examples: [{ id: 'con_01kag7m3v9e8fs2t4w6x8y0z1b', redacted: true }],
  })

export interface EventDefinition<Data extends EventSubject, Type extends EmittedType = EmittedType> {
  readonly type: Type
  /** Its `meta` must contain an `id` and an example for the API documentation. */
  readonly schema: z.ZodType<Data>
  /** An example of `data` that is true for the event type. */
  readonly example: unknown
}

/**
 * Defines an event of a slice. The compiler checks the `data` of `emit` against the definition. `exampleChanges` make
 * the example of the schema true for this event type.
 */
export function defineEvent<Data extends EventSubject, Type extends EmittedType>(
  type: Type,
  schema: z.ZodType<Data>,
  exampleChanges: { readonly [Field in keyof Data]?: unknown } = {},
): EventDefinition<Data, Type> {
  const { examples: [example] = [] } = (schema.meta() ?? {}) as { examples?: object[] }
  return { type, schema, example: { ...example, ...exampleChanges } }
}
