/** Every event's `data`, once: the type that `emit` takes, `GET /event-types`, and OpenAPI's `webhooks` come from here. */
import { z } from 'zod'
import { Campaign } from '../campaigns/campaigns.schema.ts'
import { Contact } from '../contacts/contacts.schema.ts'
import { Deal, MovedDeal } from '../deals/deals.schema.ts'
import type { EventType } from '../events.ts'
import { Timestamp } from '../fields.ts'
import { Submission } from '../forms/forms.schema.ts'
import { Import } from '../imports/imports.schema.ts'
import { Subscription } from '../lists/lists.schema.ts'
import { MailEvent } from '../mail/mail-events.schema.ts'
import { Task } from '../tasks/tasks.schema.ts'
import { Webhook } from './webhooks.schema.ts'

const contactExample = Contact.meta()?.['examples'] as [Contact]

const MergedContact = z.object({ ...Contact.shape, mergedContactId: z.string() }).meta({
  id: 'MergedContact',
  description: 'The contact that two have become; `mergedContactId` is the one that went.',
  examples: [{ ...contactExample[0], mergedContactId: 'con_01kag7m3v9e8fs2t4w6x8y0z2c' }],
})

/**
 * A line for each type; one that is missing does not compile. Each schema needs an `id` and an example in its `meta`.
 */
export const eventCatalog = {
  'contact.created': Contact,
  'contact.updated': Contact,
  'contact.deleted': Contact,
  'contact.merged': MergedContact,
  'form.submitted': Submission,
  'subscription.created': Subscription,
  'subscription.confirmed': Subscription,
  'subscription.unsubscribed': Subscription,
  'deal.created': Deal,
  'deal.updated': Deal,
  'deal.stage_changed': MovedDeal,
  'deal.won': Deal,
  'deal.lost': Deal,
  'deal.deleted': Deal,
  'task.created': Task,
  'task.completed': Task,
  'task.deleted': Task,
  'campaign.sending': Campaign,
  'campaign.sent': Campaign,
  'campaign.canceled': Campaign,
  'import.completed': Import,
  'mail.bounced': MailEvent,
  'mail.complained': MailEvent,
  'webhook.test': Webhook,
} satisfies Record<EventType | 'webhook.test', z.ZodType>

/** Every type that can be told, `webhook.test` among them, which only the webhook gets that it is about. */
export type ToldType = keyof typeof eventCatalog
export type EventData = { [Type in ToldType]: z.output<(typeof eventCatalog)[Type]> }

const exampleEvent = { id: 'evt_01kag7m3v9e8fs2t4w6x8y0z1b', timestamp: '2026-11-21T06:35:49.123Z' }

/** An event as it is read and as a webhook is sent it; `data` depends on the type. */
export const Event = z.object({ id: z.string(), type: z.string(), timestamp: Timestamp, data: z.unknown() }).meta({
  id: 'Event',
  description: 'Something that happened. `data` is the record as the API shows it, at that moment.',
  examples: [{ ...exampleEvent, type: 'contact.created', data: contactExample[0] }],
})
export type Event = z.output<typeof Event>

export const EventTypes = z
  .object({
    data: z.array(
      z.object({
        type: z.string(),
        schema: z.record(z.string(), z.unknown()).describe('JSON Schema of `data`'),
        example: Event,
      }),
    ),
  })
  .meta({ id: 'EventTypes', description: 'Every type of event there is.' })
export type EventTypes = z.output<typeof EventTypes>

/** Every type with the JSON Schema of its `data`, and a whole event as an example. */
export function describeEventTypes(): EventTypes {
  return { data: Object.entries(eventCatalog).map(([type, data]) => describeEventType(type, data)) }
}

function describeEventType(type: string, data: z.ZodType): EventTypes['data'][number] {
  const { id = '', examples } = data.meta() as { id?: string; examples?: unknown[] }
  const { $schema, $defs: { [id]: own, ...others } = {} } = z.toJSONSchema(data, { io: 'output' })
  const { examples: _examples, ...schema } = own as Record<string, unknown>
  return {
    type,
    schema: { $schema, title: id, ...schema, ...(Object.keys(others).length > 0 && { $defs: others }) },
    example: { ...exampleEvent, type, data: examples?.[0] },
  }
}
