import { z } from 'zod'
import { Email, SingleLine, Timestamp, Verbatim } from '../fields.ts'
import { Id } from '../ids.ts'
import { PageQuery, Sort } from '../paging.ts'
import { campaignStatuses } from '../schema.ts'

export const Campaign = z
  .object({
    id: z.string(),
    name: z.string(),
    subject: z.string(),
    listId: z.string().nullable(),
    status: z.enum(campaignStatuses),
    html: z.string().nullable(),
    text: z.string().nullable(),
    fromName: z.string().nullable(),
    fromEmail: z.string().nullable(),
    replyTo: z.string().nullable(),
    trackOpens: z.boolean(),
    trackClicks: z.boolean(),
    queued: z.number().int(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    sentAt: Timestamp.nullable(),
    completedAt: Timestamp.nullable(),
  })
  .meta({
    id: 'Campaign',
    description: 'A newsletter issue. `subject`, `html` and `text` are Liquid templates.',
    examples: [
      {
        id: 'cmp_01kag7m3v9e8fs2t4w6x8y0z1b',
        name: 'November letter',
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
      name: 'November letter',
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
  .strictObject({ email: Email, contactId: Id('con').optional().describe('Whose values fill the template') })
  .meta({ examples: [{ email: 'me@example.com' }] })
export type SendTestInput = z.output<typeof SendTestInput>

export const SendResult = z
  .object({ queued: z.number().int() })
  .meta({ id: 'CampaignSendResult', examples: [{ queued: 1207 }] })
export type SendResult = z.output<typeof SendResult>
