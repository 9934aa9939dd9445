import { z } from 'zod'
import { contactExample } from '../contacts/contacts.schema.ts'
import { Activity } from '../events/activity.ts'
import { Id } from '../kernel/ids.ts'

/** The example event, without `type` and `data`. */
export const exampleEvent = {
  id: Id('evt').parse('evt_01kag7m3v9e8fs2t4w6x8y0z1b'),
  timestamp: '2026-11-21T06:35:49.123Z',
}

/** An event, as the API returns it and as webhooks receive it. The schema of `data` depends on `type`. */
export const Event = z.object(Activity.shape).meta({
  id: 'Event',
  description: 'A change of a record. `data` is the record as the API returned it at that time.',
  examples: [{ ...exampleEvent, type: 'contact.created', data: contactExample }],
})
export type Event = z.output<typeof Event>
