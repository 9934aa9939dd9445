import { z } from 'zod'
import { Email, MomentInput, SingleLine, Timestamp } from '../fields.ts'
import { Id } from '../ids.ts'
import { PageQuery, Sort } from '../paging.ts'
import { emailSubscribedStatuses } from '../schema.ts'

export const Contact = z
  .object({
    id: z.string(),
    email: z.string(),
    firstName: z.string(),
    lastName: z.string(),
    phone: z.string().nullable(),
    company: z.string().nullable(),
    customFieldValues: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    tags: z.array(z.string()),
    emailSubscribedStatus: z.enum(emailSubscribedStatuses),
    lastActivityAt: Timestamp.nullable(),
    source: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({
    id: 'Contact',
    description: 'A person in the workspace. `email` is unique without regard to case.',
    examples: [
      {
        id: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        email: 'ada@example.com',
        firstName: 'Ada',
        lastName: 'Lovelace',
        phone: null,
        company: null,
        customFieldValues: {},
        tags: [],
        emailSubscribedStatus: 'NONE',
        lastActivityAt: null,
        source: null,
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Contact = z.output<typeof Contact>

const phone = SingleLine(32).refine((value) => value === '' || /^(?=.*\d)[\d\s()+./#*x-]+$/i.test(value), {
  error: 'must be a phone number',
})
const emptyToNull = <T extends z.ZodType<string>>(schema: T) =>
  schema
    .nullable()
    .default(null)
    .transform((value) => value || null)

export const Tags = z
  .array(SingleLine(100, 1), 'must be a list of texts')
  .max(100, 'must have at most 100 tags')
  .transform((tags) => [...new Set(tags)])

export const ContactInput = z
  .strictObject({
    email: Email,
    firstName: SingleLine(200).default(''),
    lastName: SingleLine(200).default(''),
    phone: emptyToNull(phone),
    company: emptyToNull(SingleLine(200)),
    customFieldValues: z
      .record(z.string().max(100), z.unknown())
      .refine((values) => Object.keys(values).length <= 100, 'must have at most 100 fields')
      .default({}),
    tags: Tags.default([]),
    source: emptyToNull(SingleLine(200)),
  })
  .meta({ examples: [{ email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace' }] })
export type ContactInput = z.output<typeof ContactInput>

export const ContactQuery = PageQuery.extend({
  sort: Sort(['createdAt', 'updatedAt', 'email']),
  email: SingleLine(254).optional().describe('Exactly this address, without regard to case'),
  tag: z
    .union([z.array(SingleLine(100, 1)).max(20), SingleLine(100, 1).transform((tag) => [tag])])
    .optional()
    .describe('Repeatable: all must hold'),
  listId: Id('lst').optional().describe('Who has a subscription to this list, in any status'),
  emailSubscribedStatus: z.enum(emailSubscribedStatuses).optional(),
  source: SingleLine(200).optional(),
  createdAfter: MomentInput.optional(),
  createdBefore: MomentInput.optional(),
  updatedAfter: MomentInput.optional(),
  updatedBefore: MomentInput.optional(),
})
export type ContactQuery = z.output<typeof ContactQuery>
