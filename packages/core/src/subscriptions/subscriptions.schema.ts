import { z } from 'zod'
import { subscriptionStatuses } from '../db/schema/index.ts'
import { RecordId } from '../kernel/ids.ts'
import { Timestamp } from '../kernel/validation.ts'

export const Subscription = z
  .object({
    contactId: RecordId('con'),
    listId: RecordId('lst'),
    status: z.enum(subscriptionStatuses),
    source: z.string().nullable(),
    confirmedAt: Timestamp.nullable(),
    unsubscribedAt: Timestamp.nullable(),
    createdAt: Timestamp,
  })
  .meta({
    id: 'Subscription',
    description: 'The subscription of a contact to a list.',
    examples: [
      {
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        listId: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
        status: 'CONFIRMED',
        source: 'subscription',
        confirmedAt: '2026-11-21T06:35:49.123Z',
        unsubscribedAt: null,
        createdAt: '2026-11-21T06:30:01.004Z',
      },
    ],
  })
export type Subscription = z.output<typeof Subscription>
