import { z } from 'zod'
import { defineEvent } from '../events/event-definition.ts'
import { RecordId } from '../kernel/ids.ts'
import { Email, MultiLine, SingleLine, Timestamp } from '../kernel/validation.ts'

export const MailReport = z
  .strictObject({
    type: z.enum(['BOUNCE', 'COMPLAINT']),
    email: Email,
    messageId: SingleLine(998, 1).optional().describe('The `Message-ID` of the email that the report is about'),
    permanent: z
      .boolean()
      .optional()
      .describe('Required for a bounce: whether the address will never accept email. A complaint is always permanent.'),
    detail: MultiLine(2_000).default('').describe('The response of the receiving server'),
  })
  .refine(({ type, permanent }) => type === 'COMPLAINT' || permanent !== undefined, {
    path: ['permanent'],
    error: 'is required for a bounce',
  })
  .meta({ examples: [{ type: 'BOUNCE', email: 'ada@example.com', permanent: true, detail: '550 5.1.1 No such user' }] })
export type MailReport = z.output<typeof MailReport>

export const MailReportResult = z
  .object({ success: z.literal(true) })
  .meta({ id: 'MailReportResult', examples: [{ success: true }] })

/** The `data` of `mail.bounced` and `mail.complained`. */
export const MailEvent = z
  .object({
    email: z.string(),
    permanent: z.boolean(),
    detail: z.string(),
    messageId: z.string().nullable(),
    contactId: RecordId('con').nullable(),
    campaignId: RecordId('cmp').nullable(),
    reportedAt: Timestamp,
  })
  .meta({
    id: 'MailEvent',
    description: 'An email that bounced or that its recipient reported as spam.',
    examples: [
      {
        email: 'ada@example.com',
        permanent: true,
        detail: '550 5.1.1 No such user',
        messageId: null,
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        campaignId: null,
        reportedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type MailEvent = z.output<typeof MailEvent>

export const mailBounced = defineEvent('mail.bounced', MailEvent)
export const mailComplained = defineEvent('mail.complained', MailEvent, { detail: 'abuse' })
