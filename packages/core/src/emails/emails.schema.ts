import { z } from 'zod'
import { ExternalId } from '../kernel/values/external-id.ts'
import { TagsUpTo } from '../kernel/values/tags.ts'
import { NewContact } from '../contacts/contacts.schema.ts'
import { emailStatuses } from '../db/schema/index.ts'
import { defineEvent } from '../events/event-definition.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { CreatedAt, EmptyAsNone, SingleLine } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { BounceClass, BounceCode } from '../mail/bounces/bounce.schema.ts'
import { batchEntries, batchFailure, batchResults } from '../request/batch-results.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { EmailDataInput } from './templates/templates.schema.ts'
import { Ground } from './templates/variables.ts'

export const emailExample = {
  id: 'mai_01kag7m3v9e8fs2t4w6x8y0z1b',
  contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
  templateId: 'tpl_01kag7m3v9e8fs2t4w6x8y0z1b',
  templateVersion: 1,
  ground: 'REQUEST',
  status: 'PENDING',
  reason: null,
  bounceClass: null,
  bounceCode: null,
  bouncedAt: null,
  complainedAt: null,
  tags: ['welcome'],
  createdAt: '2026-11-21T06:35:49.123Z',
  endedAt: null,
}

export const EmailRecord = z
  .object({
    id: RecordId('mai'),
    contactId: RecordId('con').nullable().describe('The recipient. `null` after the deletion of the contact.'),
    templateId: RecordId('tpl'),
    templateVersion: z.number().int().describe('The version of the template that accepted the email.'),
    ground: Ground,
    status: z
      .enum(emailStatuses)
      .describe(
        '`PENDING`: it waits, or is being sent. `SENT`: the mail server accepted it. `FAILED`: refused, not rendered, its sender no longer allowed, or its template `PAUSED` when it is 24 hours old. `INTERRUPTED`: it may have been sent, and is not sent again. `SKIPPED`: the address is suppressed by now.',
      ),
    reason: z.string().nullable().describe('Why it was not sent, or why the last attempt failed. `null` otherwise.'),
    bounceClass: BounceClass.nullable(),
    bounceCode: BounceCode.nullable(),
    bouncedAt: Timestamp.nullable().describe('When a bounce was first reported. `null` if none was.'),
    complainedAt: Timestamp.nullable().describe('When the recipient reported it as spam. `null` if never.'),
    tags: z.array(z.string()).describe('Your own labels.'),
    createdAt: CreatedAt,
    endedAt: Timestamp.nullable().describe('When the outcome was recorded. `null` while PENDING.'),
  })
  .meta({
    id: 'Email',
    description:
      'An email from a template to one person. Its subject, body and `data` are not shown: `data` is stored encrypted while the email waits, and deleted with its outcome.',
    examples: [emailExample],
  })
export type EmailRecord = z.output<typeof EmailRecord>

const oneOfThree = 'must be an object with exactly one of contactId, externalId and email'

const To = z
  .union(
    [
      z.strictObject({ contactId: Id('con').describe('The contact who receives the email.') }),
      z.strictObject({ externalId: ExternalId.describe('The external id of the contact who receives the email.') }),
      z.strictObject({
        email: NewContact.shape.email.describe('The address. The contact with it is found, or created.'),
        firstName: NewContact.shape.firstName.optional(),
        lastName: NewContact.shape.lastName.optional(),
        locale: NewContact.shape.locale.optional(),
      }),
    ],
    {
      // Without a recipient, the field is required as any other is.
      error: ({ input }) => (input === undefined ? undefined : oneOfThree),
    },
  )
  .describe(
    'The one recipient: `contactId`, `externalId`, or `email`, which finds the contact or creates it, and fills what is empty.',
  )

export const EmailInput = z
  .strictObject({
    templateId: Id('tpl').describe('The template.'),
    to: To,
    data: EmailDataInput.default({}),
    tags: TagsUpTo(5).default([]).describe('Your own labels, at most 5. Duplicates are removed.'),
  })
  .meta({
    id: 'EmailCreate',
    description: 'An email to one person.',
    examples: [
      {
        templateId: emailExample.templateId,
        to: { email: 'ada@example.com', firstName: 'Ada' },
        data: { verifyUrl: 'https://shop.example/verify/x' },
        tags: ['welcome'],
      },
    ],
  })
export type EmailInput = z.output<typeof EmailInput>

export const EmailQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  status: z.enum(emailStatuses).optional().describe('Only emails with this status.'),
  contactId: Id('con').optional().describe('Only emails to this contact.'),
  externalId: ExternalId.optional().describe('Only emails to the contact with this external id.'),
  templateId: Id('tpl').optional().describe('Only emails from this template.'),
  tag: EmptyAsNone(SingleLine(100, 1)).describe('Only emails with this label.'),
})
export type EmailQuery = z.output<typeof EmailQuery>

export const EmailBatch = z
  .strictObject({
    emails: batchEntries('emails', EmailInput),
  })
  .meta({
    id: 'EmailBatchRequest',
    description: 'Emails to one person each.',
    examples: [{ emails: [EmailInput.meta()?.['examples']].flat() }],
  })
export type EmailBatch = z.output<typeof EmailBatch>

const EmailBatchSuccess = z
  .object({ status: z.literal('ACCEPTED').describe('The email was accepted.'), email: EmailRecord })
  .meta({ id: 'EmailBatchSuccess', description: 'The email was accepted.' })

/** The errors that are about one email, and say nothing of others. */
export const refusalCodes = [
  'validation_error',
  'opted_out',
  'wrong_state',
  'forbidden',
  'domain_not_verified',
  'quota_exceeded',
  'identity_conflict',
] as const

const EmailBatchFailure = batchFailure('Email', {
  codes: refusalCodes,
  status: 'Nothing was accepted for this entry.',
  issues: 'The invalid fields of the entry, if `code` is `validation_error`.',
  details: {},
})
export type EmailBatchFailure = z.output<typeof EmailBatchFailure>

export const EmailBatchResults = batchResults('Email', {
  success: EmailBatchSuccess,
  failure: EmailBatchFailure,
  examples: [
    { status: 'ACCEPTED', email: emailExample },
    {
      status: 'FAILED',
      code: 'validation_error',
      message: 'data.verifyUrl: is required',
      issues: [{ path: 'data.verifyUrl', message: 'is required' }],
    },
  ],
})
export type EmailBatchResults = z.output<typeof EmailBatchResults>
export type EmailBatchResult = EmailBatchResults['results'][number]

const ended = '2026-11-21T06:35:49.391Z'
export const emailSent = defineEvent('email.sent', EmailRecord, { status: 'SENT', endedAt: ended })
export const emailFailed = defineEvent('email.failed', EmailRecord, {
  status: 'FAILED',
  reason: '550 5.1.1 No such user',
  bounceClass: 'HARD',
  bounceCode: '5.1.1',
  endedAt: ended,
})
export const emailInterrupted = defineEvent('email.interrupted', EmailRecord, {
  status: 'INTERRUPTED',
  reason: 'The worker crashed or lost the database connection during the attempt',
  endedAt: ended,
})
export const emailSkipped = defineEvent('email.skipped', EmailRecord, {
  status: 'SKIPPED',
  reason: 'The address is suppressed (BOUNCED)',
  endedAt: ended,
})
