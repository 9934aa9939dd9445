import { z } from 'zod'
import { Email, MultiLine, SingleLine, Timestamp } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { subscriptionStatuses } from '../db/schema/index.ts'

export const List = z
  .object({
    id: RecordId('lst'),
    name: z.string(),
    description: z.string(),
    doubleOptIn: z.boolean(),
    confirmedCount: z.number().int(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({
    id: 'List',
    description: 'A list of subscribers, such as the readers of a newsletter.',
    examples: [
      {
        id: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
        name: 'Monthly newsletter',
        description: '',
        doubleOptIn: true,
        confirmedCount: 1207,
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type List = z.output<typeof List>

export const ListInput = z
  .strictObject({
    name: SingleLine(200, 1),
    description: MultiLine(20_000).default(''),
    doubleOptIn: z.boolean().default(true).describe('Whether subscribers must confirm by a link in an email'),
  })
  .meta({ examples: [{ name: 'Monthly newsletter' }] })
export type ListInput = z.output<typeof ListInput>

export const ListChange = z
  .strictObject({ name: SingleLine(200, 1), description: MultiLine(20_000), doubleOptIn: z.boolean() })
  .partial()
  .meta({ examples: [{ name: 'Weekly newsletter' }] })
export type ListChange = z.output<typeof ListChange>

export const ListQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type ListQuery = z.output<typeof ListQuery>

export const SubscriberQuery = PageQuery.extend({
  status: z.enum(subscriptionStatuses).optional(),
  sort: Sort(['createdAt']),
})
export type SubscriberQuery = z.output<typeof SubscriberQuery>

export const SubscriberInput = z
  .strictObject({
    contactId: Id('con').optional(),
    email: Email.optional().describe('Creates the contact if no contact has this email address'),
    status: z
      .enum(['PENDING', 'CONFIRMED'])
      .describe('CONFIRMED states that the contact has consented; PENDING sends a confirmation email.'),
  })
  .refine((input) => (input.contactId === undefined) !== (input.email === undefined), {
    path: ['contactId'],
    error: 'either contactId or email is required, but not both',
  })
  .meta({ examples: [{ email: 'ada@example.com', status: 'PENDING' }] })
export type SubscriberInput = z.output<typeof SubscriberInput>

export const SubscribeInput = z
  .strictObject({
    email: Email,
    firstName: SingleLine(200).default(''),
    lastName: SingleLine(200).default(''),
  })
  .meta({ examples: [{ email: 'ada@example.com', firstName: 'Ada' }] })
export type SubscribeInput = z.output<typeof SubscribeInput>
