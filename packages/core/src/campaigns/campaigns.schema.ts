import { z } from 'zod'
import { Email, SingleLine, Timestamp, Verbatim } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { campaignStatuses } from '../db/schema/index.ts'

export const Campaign = z
  .object({
    id: RecordId('cmp'),
    name: z.string(),
    subject: z.string(),
    listId: RecordId('lst').nullable(),
    status: z.enum(campaignStatuses),
    html: z.string().nullable(),
    text: z.string().nullable(),
    fromName: z.string().nullable(),
    fromEmail: z.string().nullable(),
    replyTo: z.string().nullable(),
    trackOpens: z.boolean(),
    trackClicks: z.boolean(),
    queued: z.number().int(),
    pauseReason: z
      .string()
      .nullable()
      .describe('Why the system paused the campaign. `null` if the campaign is not paused, or if a user paused it.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    sentAt: Timestamp.nullable(),
    completedAt: Timestamp.nullable(),
  })
  .meta({
    id: 'Campaign',
    description: 'An email to the subscribers of a list. `subject`, `html` and `text` are Liquid templates.',
    examples: [
      {
        id: 'cmp_01kag7m3v9e8fs2t4w6x8y0z1b',
        name: 'November newsletter',
        subject: 'What is new, {{ contact.firstName | default: "friend" }}',
        listId: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
        status: 'DRAFT',
        html: '<p>Hello {{ contact.firstName | default: "friend" }},</p>',
        text: null,
        fromName: null,
        fromEmail: null,
        replyTo: null,
        trackOpens: false,
        trackClicks: false,
        queued: 0,
        pauseReason: null,
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
        sentAt: null,
        completedAt: null,
      },
    ],
  })
export type Campaign = z.output<typeof Campaign>

const template = Verbatim(1_048_576)

const fields = {
  name: SingleLine(200, 1),
  subject: SingleLine(300, 1),
  listId: Id('lst'),
  html: template.nullable().optional(),
  text: template.nullable().optional(),
  fromName: SingleLine(200).nullable().optional(),
  fromEmail: Email.nullable().optional(),
  replyTo: Email.nullable().optional(),
  trackOpens: z.boolean().optional(),
  trackClicks: z.boolean().optional(),
}

export const CampaignInput = z.strictObject(fields).meta({
  examples: [
    {
      name: 'November newsletter',
      subject: 'What is new, {{ contact.firstName | default: "friend" }}',
      listId: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
      html: '<p>Hello {{ contact.firstName | default: "friend" }},</p>',
    },
  ],
})
export type CampaignInput = z.output<typeof CampaignInput>

export const CampaignChange = z
  .strictObject(fields)
  .partial()
  .meta({ examples: [{ subject: 'Another subject' }] })
export type CampaignChange = z.output<typeof CampaignChange>

export const CampaignQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type CampaignQuery = z.output<typeof CampaignQuery>

export const SendTestInput = z
  .strictObject({
    email: Email,
    contactId: Id('con').optional().describe('Renders the templates for this contact. Default: an example contact.'),
  })
  .meta({ examples: [{ email: 'me@example.com' }] })
export type SendTestInput = z.output<typeof SendTestInput>

export const SendResult = z
  .object({ queued: z.number().int() })
  .meta({ id: 'CampaignSendResult', examples: [{ queued: 1207 }] })
export type SendResult = z.output<typeof SendResult>

export const RetryInput = z
  .strictObject({
    includeInterrupted: z
      .boolean()
      .default(false)
      .describe('Also retries INTERRUPTED recipients. Their email may have been delivered, so they may get it twice.'),
  })
  .meta({ examples: [{ includeInterrupted: false }] })
export type RetryInput = z.output<typeof RetryInput>

export const PreviewInput = z
  .strictObject({
    contactId: Id('con').optional().describe('Renders the templates for this contact. Default: an example contact.'),
  })
  .meta({ examples: [{}] })
export type PreviewInput = z.output<typeof PreviewInput>

export const Preview = z.object({ subject: z.string(), html: z.string().nullable(), text: z.string() }).meta({
  id: 'CampaignPreview',
  examples: [{ subject: 'What is new, Ada', html: '<p>Hello Ada,</p>', text: 'Hello Ada,' }],
})
export type Preview = z.output<typeof Preview>

const count = z.number().int()

export const Audience = z
  .object({
    willReceive: count,
    excluded: z.object({ pending: count, unsubscribed: count, bounced: count, complained: count }),
  })
  .meta({
    id: 'CampaignAudience',
    description:
      'The number of subscribers that would receive the campaign now, and of those that would not, by status.',
    examples: [{ willReceive: 1207, excluded: { pending: 12, unsubscribed: 48, bounced: 5, complained: 1 } }],
  })
export type Audience = z.output<typeof Audience>

export const CampaignStats = z
  .object({
    queued: count,
    sent: count,
    failed: count,
    skipped: count,
    interrupted: count,
    pending: count,
    opened: count.describe('Recipients who opened the email, each counted once'),
    clicked: count.describe('Recipients who clicked a link, each counted once'),
    unsubscribed: count.describe('Recipients who used the unsubscribe link of this campaign'),
    bounced: count,
    complained: count,
  })
  .meta({
    id: 'CampaignStats',
    description:
      'The number of recipients by status. At any time, queued = sent + failed + skipped + interrupted + pending.',
    examples: [
      {
        queued: 1207,
        sent: 1190,
        failed: 9,
        skipped: 3,
        interrupted: 0,
        pending: 5,
        opened: 610,
        clicked: 122,
        unsubscribed: 4,
        bounced: 6,
        complained: 1,
      },
    ],
  })
export type CampaignStats = z.output<typeof CampaignStats>

/** The API shows the internal statuses SENDING and WAITING as PENDING. */
const shownStatuses = ['PENDING', 'SENT', 'FAILED', 'SKIPPED', 'INTERRUPTED'] as const

export const CampaignRecipient = z
  .object({
    contactId: RecordId('con'),
    email: z.string().nullable().describe('`null` if the contact was deleted'),
    status: z.enum(shownStatuses),
    error: z
      .string()
      .nullable()
      .describe('Why the email was not sent. For a PENDING recipient, why the last attempt failed.'),
    createdAt: Timestamp.describe(
      'When a worker first claimed the recipient. Before that, when the campaign was sent.',
    ),
    settledAt: Timestamp.nullable().describe('When the outcome was recorded. `null` while PENDING.'),
    openedAt: Timestamp.nullable(),
    clickedAt: Timestamp.nullable(),
    unsubscribedAt: Timestamp.nullable(),
    bouncedAt: Timestamp.nullable(),
    complainedAt: Timestamp.nullable(),
  })
  .meta({
    id: 'CampaignRecipient',
    description:
      'A recipient of a campaign and the status of the email. INTERRUPTED: the outcome is unknown, because the worker crashed while sending, or because the connection was lost.',
  })
export type CampaignRecipient = z.output<typeof CampaignRecipient>

export const RecipientQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  status: z
    .enum(shownStatuses)
    .optional()
    .describe(
      'Default: all recipients that a worker has claimed. PENDING includes recipients that are not claimed yet.',
    ),
  contactId: Id('con').optional(),
})
export type RecipientQuery = z.output<typeof RecipientQuery>
