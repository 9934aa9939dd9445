import { z } from 'zod'
import { contactExample } from '../contacts/contacts.schema.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { Timestamp } from '../kernel/validation.ts'

/** The example event, without `type` and `data`. */
export const exampleEvent = {
  id: Id('evt').parse('evt_01kag7m3v9e8fs2t4w6x8y0z1b'),
  timestamp: '2026-11-21T06:35:49.123Z',
}

/** An event, as the API returns it and as webhooks receive it. The schema of `data` depends on `type`. */
export const Event = z
  .object({
    id: RecordId('evt'),
    type: z.string().describe('The event type, such as `contact.created`.'),
    timestamp: Timestamp.describe('When the event was emitted.'),
    data: z.unknown().describe('The record at that time. `GET /event-types` has the schema for each type.'),
  })
  .meta({
    id: 'Event',
    description: 'A change of a record. `data` is the record as the API returned it at that time.',
    examples: [{ ...exampleEvent, type: 'contact.created', data: contactExample }],
  })
export type Event = z.output<typeof Event>
