import { z } from 'zod'
import {
  CreatedAt,
  Email,
  emptyToNull,
  OptionalObject,
  SearchText,
  SingleLine,
  UpdatedAt,
  Verbatim,
} from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { BounceClass, BounceCode } from '../mail/bounces/bounce.schema.ts'
import { describeSender } from '../domains/senders.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { campaignStatuses } from '../db/schema/index.ts'

export const Campaign = z
  .object({
    id: RecordId('cmp'),
    name: z.string().describe('The name of the campaign. Recipients do not see it.'),
    subject: z.string().describe('The subject line, a Liquid template.'),
    listId: RecordId('lst').nullable().describe('The list that receives the campaign. `null` if it was deleted.'),
    segmentId: RecordId('seg').nullable().describe('The segment that narrows the list. `null` for the whole list.'),
    status: z.enum(campaignStatuses).describe('`DRAFT`, `SENDING`, `PAUSED`, `SENT` or `CANCELED`.'),
    html: z
      .string()
      .nullable()
      .describe(
        'The HTML body, a Liquid template. `null` if there is only text. Without content in `html` and `text`, the email has a plain text built on the subject.',
      ),
    text: z
      .string()
      .nullable()
      .describe('The plain-text body, a Liquid template. `null` if it is derived from `html`.'),
    fromName: z.string().nullable().describe('The sender name. `null` for that of the workspace.'),
    fromEmail: z.string().nullable().describe('The sender address. `null` for that of the workspace.'),
    replyTo: z.string().nullable().describe('The address for replies. `null` for the sender address.'),
    trackOpens: z
      .boolean()
      .describe('Whether opens are recorded, as far as the workspace and each recipient allow it.'),
    trackClicks: z.boolean().describe('The same for clicks on links.'),
    webVersion: z
      .boolean()
      .describe('Whether the email is also a page, for 90 days after it was sent: see `webVersionUrl` of templates.'),
    queued: z.number().int().describe('The number of recipients when the campaign was sent. 0 for a draft.'),
    pauseReason: z
      .string()
      .nullable()
      .describe('Why the system paused the campaign. `null` if the campaign is not paused, or if a user paused it.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
    sentAt: Timestamp.nullable().describe('When sending began. `null` for a draft.'),
    completedAt: Timestamp.nullable().describe('When the last recipient was processed. `null` before.'),
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
        segmentId: null,
        status: 'DRAFT',
        html: '<p>Hello {{ contact.firstName | default: "friend" }},</p>',
        text: null,
        fromName: null,
        fromEmail: null,
        replyTo: null,
        trackOpens: false,
        trackClicks: false,
        webVersion: true,
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

const campaignExamples = Campaign.meta()?.['examples'] as [Campaign]
const { html: _, text: __, ...summaryExample } = campaignExamples[0]

/** Without the templates, which may have 1 MiB each: a page of campaigns, and an event, must stay small. */
export const CampaignSummary = Campaign.omit({ html: true, text: true }).meta({
  id: 'CampaignSummary',
  description: 'A campaign without its `html` and `text`, as in listings and events.',
  examples: [summaryExample],
})
export type CampaignSummary = z.output<typeof CampaignSummary>

const template = Verbatim(1_048_576)

const fields = {
  name: SingleLine(200, 1).describe('The name of the campaign. Recipients do not see it.'),
  subject: SingleLine(300, 1).describe('The subject line, a Liquid template.'),
  listId: Id('lst').describe('The list that receives the campaign.'),
  segmentId: Id('seg')
    .nullable()
    .optional()
    .describe('Only the subscribers who match this segment receive the campaign. `null` for the whole list.'),
  html: template.nullable().optional().describe('The HTML body, a Liquid template. `null` for text only.'),
  text: template
    .nullable()
    .optional()
    .describe('The plain-text body, a Liquid template. `null` to derive it from `html`.'),
  fromName: emptyToNull(SingleLine(200)).optional().describe('The sender name. `null` for that of the workspace.'),
  fromEmail: Email.nullable().optional().describe(describeSender('that of the workspace')),
  replyTo: Email.nullable().optional().describe('The address for replies. `null` for the sender address.'),
  trackOpens: z
    .boolean()
    .optional()
    .describe(
      'Whether opens are recorded: as those of a person if the recipient has granted it, otherwise as `trackingWithoutConsent` of the workspace says, and not at all if the recipient has denied it. Default: `false`.',
    ),
  trackClicks: z.boolean().optional().describe('The same for clicks on links. Default: `false`.'),
  webVersion: z
    .boolean()
    .optional()
    .describe(
      'Whether the email is also a page, without what is of a person, for 90 days after it was sent. With `false`, `webVersionUrl` is empty in templates. Default: `true`.',
    ),
}

export const CampaignInput = z.strictObject(fields).meta({
  id: 'CampaignCreate',
  description: 'A new campaign.',
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
  .meta({
    id: 'CampaignUpdate',
    description: 'The fields of the campaign to change. Omitted fields stay unchanged.',
    examples: [{ subject: 'Another subject' }],
  })
export type CampaignChange = z.output<typeof CampaignChange>

export const CampaignQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  status: z.enum(campaignStatuses).optional().describe('Only campaigns with this status.'),
  listId: Id('lst').optional().describe('Only campaigns for this list.'),
  segmentId: Id('seg').optional().describe('Only campaigns with this segment.'),
  search: SearchText.describe('Part of the name or the subject, ignoring case and accents.'),
})
export type CampaignQuery = z.output<typeof CampaignQuery>

export const SendTestInput = z
  .strictObject({
    email: Email.describe('The address that receives the test email.'),
    contactId: Id('con').optional().describe('Renders the templates for this contact. Default: an example contact.'),
  })
  .meta({
    id: 'CampaignSendTestRequest',
    description: 'The recipient of the test email.',
    examples: [{ email: 'me@example.com' }],
  })
export type SendTestInput = z.output<typeof SendTestInput>

export const SendResult = z.object({ queued: z.number().int().describe('The number of recipients.') }).meta({
  id: 'CampaignSendResult',
  description: 'The emails will be sent in the background.',
  examples: [{ queued: 1207 }],
})
export type SendResult = z.output<typeof SendResult>

export const Sending = SendResult.extend({
  unseen: z
    .number()
    .int()
    .describe(
      'Subscribers whom the segment left out because it could not see whether they opened or clicked: see `not` in filters.',
    ),
}).meta({
  id: 'CampaignSending',
  description: 'The campaign is being sent in the background.',
  examples: [{ queued: 1207, unseen: 0 }],
})
export type Sending = z.output<typeof Sending>

export const RetryInput = OptionalObject({
  includeInterrupted: z
    .boolean()
    .default(false)
    .describe('Also retries INTERRUPTED recipients. Their email may have been delivered, so they may get it twice.'),
}).meta({
  id: 'CampaignRetryRequest',
  description: 'Which recipients to retry.',
  examples: [{ includeInterrupted: false }],
})
export type RetryInput = z.output<typeof RetryInput>

export const PreviewInput = OptionalObject({
  contactId: Id('con').optional().describe('Renders the templates for this contact. Default: an example contact.'),
}).meta({ id: 'CampaignPreviewRequest', description: 'The contact to render the campaign for.', examples: [{}] })
export type PreviewInput = z.output<typeof PreviewInput>

export const Preview = z
  .object({
    subject: z.string().describe('The rendered subject line.'),
    html: z.string().nullable().describe('The rendered HTML body. `null` if the campaign has only text.'),
    text: z.string().describe('The rendered plain-text body.'),
  })
  .meta({
    id: 'CampaignPreview',
    description: 'A campaign as one contact would receive it.',
    examples: [{ subject: 'What is new, Ada', html: '<p>Hello Ada,</p>', text: 'Hello Ada,' }],
  })
export type Preview = z.output<typeof Preview>

/** The API shows the internal statuses SENDING and WAITING as PENDING. */
const shownStatuses = ['PENDING', 'SENT', 'FAILED', 'SKIPPED', 'INTERRUPTED'] as const

export const CampaignRecipient = z
  .object({
    contactId: RecordId('con'),
    email: z.string().nullable().describe('The address of the recipient. `null` if the contact was deleted.'),
    status: z.enum(shownStatuses).describe('The status of the email.'),
    error: z
      .string()
      .nullable()
      .describe(
        'Why the email was not sent. For a `PENDING` recipient, why the last attempt failed. `null` if nothing failed.',
      ),
    createdAt: Timestamp.describe(
      'When a worker first claimed the recipient. Before that, when the campaign was sent.',
    ),
    endedAt: Timestamp.nullable().describe('When the outcome was recorded. `null` while PENDING.'),
    openedAt: Timestamp.nullable().describe('When the recipient first opened the email. `null` if unknown.'),
    clickedAt: Timestamp.nullable().describe('When the recipient first clicked a link. `null` if unknown.'),
    unsubscribedAt: Timestamp.nullable().describe(
      'When the recipient used the unsubscribe link of this campaign. `null` unless they did.',
    ),
    bouncedAt: Timestamp.nullable().describe('When a `HARD` bounce was reported. `null` unless it was.'),
    complainedAt: Timestamp.nullable().describe('When a complaint was reported. `null` unless it was.'),
    bounceClass: BounceClass.nullable(),
    bounceCode: BounceCode.nullable(),
  })
  .meta({
    id: 'CampaignRecipient',
    description:
      'A recipient of a campaign and the status of the email. INTERRUPTED: the outcome is unknown, because the worker crashed while sending, or because the connection was lost.',
  })
export type CampaignRecipient = z.output<typeof CampaignRecipient>

const { contactId, email: _email, ...delivery } = CampaignRecipient.shape

export const ReceivedCampaign = z
  .object({
    campaignId: RecordId('cmp'),
    contactId: contactId.describe('The contact, or a contact that was merged into it later.'),
    name: z.string().describe('The name of the campaign.'),
    subject: z.string().describe('The subject line of the campaign, a Liquid template.'),
    ...delivery,
    opensTracked: z
      .boolean()
      .nullable()
      .describe('Whether opens of the email are recorded as those of the contact. `null` if no email was prepared.'),
    clicksTracked: z
      .boolean()
      .nullable()
      .describe('Whether clicks in the email are recorded as those of the contact. `null` if no email was prepared.'),
  })
  .meta({
    id: 'ReceivedCampaign',
    description: 'The email of a campaign to one contact, with its status and what the contact did with it.',
  })
export type ReceivedCampaign = z.output<typeof ReceivedCampaign>

export const RecipientQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  status: z
    .enum(shownStatuses)
    .optional()
    .describe(
      'Default: all recipients that a worker has claimed. PENDING includes recipients that are not claimed yet.',
    ),
  contactId: Id('con').optional().describe('Only this contact.'),
})
export type RecipientQuery = z.output<typeof RecipientQuery>
