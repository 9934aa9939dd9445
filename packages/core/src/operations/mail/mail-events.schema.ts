import { z } from 'zod'
import { defineEvent } from '../../events/event-definition.ts'
import { RecordId } from '../../kernel/ids.ts'
import { BounceClass, BounceCode } from '../../mail/bounces/bounce.schema.ts'
import { Email, MultiLine, SingleLine } from '../../kernel/validation.ts'
import { Timestamp } from '../../kernel/values/timestamps.ts'

export const MailEventInput = z
  .strictObject({
    type: z.enum(['BOUNCE', 'COMPLAINT']).describe('`BOUNCE`: not delivered. `COMPLAINT`: reported as spam.'),
    email: Email.describe('The address of the recipient.'),
    messageId: SingleLine(998, 1).optional().describe('The `Message-ID` of the email that the report is about.'),
    permanent: z
      .boolean()
      .optional()
      .describe('Required for a bounce: whether the address will never accept email. A complaint is always permanent.'),
    detail: MultiLine(2_000).default('').describe('The response of the receiving server.'),
  })
  .refine(({ type, permanent }) => type === 'COMPLAINT' || permanent !== undefined, {
    path: ['permanent'],
    error: 'is required for a bounce',
  })
  .meta({
    id: 'MailEventCreate',
    description: 'A report of a mail provider about one email.',
    examples: [{ type: 'BOUNCE', email: 'ada@example.com', permanent: true, detail: '550 5.1.1 No such user' }],
  })
export type MailEventInput = z.output<typeof MailEventInput>

export const MailReportResult = z
  .object({ success: z.literal(true).describe('Always `true`.') })
  .meta({ id: 'MailReportResult', description: 'The report was recorded.', examples: [{ success: true }] })

/** The `data` of `mail.bounced` and `mail.complained`. */
export const MailEvent = z
  .object({
    email: z.string().describe('The address of the recipient.'),
    permanent: z.boolean().describe('Whether the address will never accept email.'),
    class: BounceClass.nullable(),
    code: BounceCode.nullable(),
    detail: z.string().describe('The response of the receiving server. May be empty.'),
    messageId: z.string().nullable().describe('The `Message-ID` of the email. `null` if it was not reported.'),
    contactId: RecordId('con').nullable().describe('The contact with this address. `null` if there is none.'),
    campaignId: RecordId('cmp').nullable().describe('The campaign of the email. `null` if it is not known.'),
    emailId: RecordId('mai').nullable().describe('The email from a template. `null` if it is of none.'),
    reportedAt: Timestamp.describe('When the report arrived.'),
  })
  .meta({
    id: 'MailEvent',
    description: 'An email that bounced or that its recipient reported as spam.',
    examples: [
      {
        email: 'ada@example.com',
        permanent: true,
        class: 'HARD',
        code: '5.1.1',
        detail: '550 5.1.1 No such user',
        messageId: null,
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        campaignId: null,
        emailId: null,
        reportedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type MailEvent = z.output<typeof MailEvent>

export const mailBounced = defineEvent('mail.bounced', MailEvent)
export const mailComplained = defineEvent('mail.complained', MailEvent, { class: null, code: null, detail: 'abuse' })
