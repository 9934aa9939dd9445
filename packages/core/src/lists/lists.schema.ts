import { z } from 'zod'
import { CreatedAt, Email, MultiLine, QueryBoolean, SearchText, SingleLine, UpdatedAt } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { OptionalLocale } from '../kernel/values/locale.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { publicSignups, subscriptionStatuses } from '../db/schema/index.ts'

const localeDescription =
  'The language of the list, as a language tag (BCP 47) such as `de`, for subscribers whose own is unknown. `null` for that of the workspace.'

const doubleOptInDescription =
  'Whether `POST /lists/{id}/subscribers` without `status` asks the contact by email. With `false` it confirms, by the word of the caller. Visitors are always asked by email.'
const PublicSignup = z
  .enum(publicSignups)
  .describe(
    'Whether visitors can subscribe. With `CLOSED`, the public route returns 404, and a form stores its submissions but subscribes no one.',
  )

const exampleList = {
  id: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
  name: 'Monthly newsletter',
  description: '',
  doubleOptIn: true,
  publicSignup: 'OPEN',
  confirmedCount: 1207,
  locale: null,
  createdAt: '2026-11-21T06:35:49.123Z',
  updatedAt: '2026-11-21T06:35:49.123Z',
}

export const List = z
  .object({
    id: RecordId('lst'),
    name: z.string().describe('The name of the list. Subscribers see it.'),
    description: z
      .string()
      .describe('What the list is about. May be empty. Subscribers see it on their preferences page.'),
    doubleOptIn: z.boolean().describe(doubleOptInDescription),
    publicSignup: PublicSignup,
    confirmedCount: z.number().int().describe('The number of confirmed subscribers.'),
    locale: z.string().nullable().describe(localeDescription),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({
    id: 'List',
    description: 'A list of subscribers, such as the readers of a newsletter.',
    examples: [exampleList],
  })
export type List = z.output<typeof List>

/** A list on its own. A page of lists does not count what is withheld. */
export const ListRecord = List.extend({
  withheldConfirmations: z
    .number()
    .int()
    .describe('The confirmation emails that wait, because visitors asked for more than the budget allows.'),
}).meta({
  id: 'ListRecord',
  description: 'A list of subscribers, with the confirmation emails that wait.',
  examples: [{ ...exampleList, withheldConfirmations: 0 }],
})
export type ListRecord = z.output<typeof ListRecord>

const count = z.number().int()
export const SubscriberCounts = z
  .object({
    PENDING: count.describe('The contacts that were asked and have not confirmed.'),
    CONFIRMED: count.describe('The contacts that campaigns are sent to.'),
    UNSUBSCRIBED: count.describe('The contacts that left the list, or were removed from it.'),
    BOUNCED: count.describe('The contacts whose address accepts no email.'),
    COMPLAINED: count.describe('The contacts that reported an email as spam.'),
  })
  .meta({
    id: 'SubscriberCounts',
    description: 'The exact number of subscriptions to a list, by status.',
    examples: [{ PENDING: 12, CONFIRMED: 1207, UNSUBSCRIBED: 96, BOUNCED: 4, COMPLAINED: 1 }],
  })
export type SubscriberCounts = z.output<typeof SubscriberCounts>

export const ListInput = z
  .strictObject({
    name: SingleLine(200, 1).describe('The name of the list. Subscribers see it.'),
    description: MultiLine(20_000)
      .default('')
      .describe('What the list is about, at most 16 KiB. Subscribers see it on their preferences page.'),
    doubleOptIn: z.boolean().default(true).describe(doubleOptInDescription),
    publicSignup: PublicSignup.default('OPEN'),
    locale: OptionalLocale.optional().describe(localeDescription),
  })
  .meta({ id: 'ListCreate', description: 'A new list.', examples: [{ name: 'Monthly newsletter' }] })
export type ListInput = z.output<typeof ListInput>

export const ListChange = z
  .strictObject({
    name: SingleLine(200, 1).describe('The name of the list. Subscribers see it.'),
    description: MultiLine(20_000).describe(
      'What the list is about, at most 16 KiB. Subscribers see it on their preferences page.',
    ),
    doubleOptIn: z.boolean().describe(doubleOptInDescription),
    publicSignup: PublicSignup,
    locale: OptionalLocale.describe(localeDescription),
  })
  .partial()
  .meta({
    id: 'ListUpdate',
    description: 'The fields of the list to change. Omitted fields stay unchanged.',
    examples: [{ name: 'Weekly newsletter' }],
  })
export type ListChange = z.output<typeof ListChange>

export const ListQuery = PageQuery.extend({
  search: SearchText.describe('Only lists with this part of the name, ignoring case and accents.'),
  sort: Sort(['createdAt']),
})
export type ListQuery = z.output<typeof ListQuery>

export const SubscriberQuery = PageQuery.extend({
  status: z.enum(subscriptionStatuses).optional().describe('Only subscriptions with this status.'),
  withheld: QueryBoolean.optional().describe(
    '`true`: only subscriptions whose confirmation email waits, or was given up within the last 30 days, because visitors asked for more than the budget of the workspace allows. `false`: only the others.',
  ),
  sort: Sort(['createdAt']),
})
export type SubscriberQuery = z.output<typeof SubscriberQuery>

export const SubscriberInput = z
  .strictObject({
    contactId: Id('con').optional(),
    email: Email.optional().describe('Creates the contact if no contact has this email address.'),
    status: z
      .enum(['PENDING', 'CONFIRMED'])
      .optional()
      .describe(
        'CONFIRMED states that the contact has consented; PENDING sends a confirmation email. Default: PENDING, or CONFIRMED on a list with `doubleOptIn: false`.',
      ),
  })
  .refine((input) => (input.contactId === undefined) !== (input.email === undefined), {
    path: ['contactId'],
    error: 'either contactId or email is required, but not both',
  })
  .meta({
    id: 'ListAddSubscriberRequest',
    description: 'The contact to subscribe: either `contactId` or `email` is required.',
    examples: [{ email: 'ada@example.com' }],
  })
export type SubscriberInput = z.output<typeof SubscriberInput>

export const SubscribeInput = z
  .strictObject({
    email: Email.describe('The address of the visitor.'),
    firstName: SingleLine(200).default('').describe('The first name of the visitor.'),
    lastName: SingleLine(200).default('').describe('The last name of the visitor.'),
  })
  .meta({
    id: 'PublicSubscribeRequest',
    description: 'The visitor who subscribes.',
    examples: [{ email: 'ada@example.com', firstName: 'Ada' }],
  })
export type SubscribeInput = z.output<typeof SubscribeInput>
