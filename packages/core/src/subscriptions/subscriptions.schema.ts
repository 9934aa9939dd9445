import { z } from 'zod'
import { subscriptionStatuses } from '../db/schema/index.ts'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt, Timestamp } from '../kernel/validation.ts'

export const Subscription = z
  .object({
    contactId: RecordId('con'),
    listId: RecordId('lst'),
    status: z
      .enum(subscriptionStatuses)
      .describe('`PENDING` until the contact confirms. Only `CONFIRMED` subscribers receive campaigns.'),
    source: z
      .string()
      .nullable()
      .describe('Where the subscription comes from, such as `api` or `public`. `null` if unknown.'),
    confirmedAt: Timestamp.nullable().describe('When the contact confirmed. `null` before.'),
    unsubscribedAt: Timestamp.nullable().describe('When the contact unsubscribed. `null` unless they did.'),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'Subscription',
    description: 'The subscription of a contact to a list.',
    examples: [
      {
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        listId: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
        status: 'CONFIRMED',
        source: 'public',
        confirmedAt: '2026-11-21T06:35:49.123Z',
        unsubscribedAt: null,
        createdAt: '2026-11-21T06:30:01.004Z',
      },
    ],
  })
export type Subscription = z.output<typeof Subscription>
