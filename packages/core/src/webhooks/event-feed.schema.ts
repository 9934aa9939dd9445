import { z } from 'zod'
import { contactExample } from '../contacts/contacts.schema.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { Timestamp } from '../kernel/validation.ts'

/** The envelope of an example, without `type` and `data`. */
export const exampleEvent = {
  id: Id('evt').parse('evt_01kag7m3v9e8fs2t4w6x8y0z1b'),
  timestamp: '2026-11-21T06:35:49.123Z',
}

/** An event as it is read and as a webhook is sent it; `data` depends on the type. */
export const Event = z.object({ id: RecordId('evt'), type: z.string(), timestamp: Timestamp, data: z.unknown() }).meta({
  id: 'Event',
  description: 'Something that happened. `data` is the record as the API shows it, at that moment.',
  examples: [{ ...exampleEvent, type: 'contact.created', data: contactExample }],
})
export type Event = z.output<typeof Event>
