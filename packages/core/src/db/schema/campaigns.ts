/**
 * The statuses of a campaign, its batches and its recipients.
 *
 * | campaign | from             | when                                                                       |
 * |----------|------------------|----------------------------------------------------------------------------|
 * | DRAFT    |                  | created                                                                    |
 * | SENDING  | DRAFT            | sent: its subscribers are in PENDING batches                               |
 * |          | PAUSED           | resumed                                                                    |
 * |          | SENT             | retried: FAILED or INTERRUPTED recipients are WAITING again                |
 * | PAUSED   | SENDING          | paused by a user; by a worker or a restored backup, with a `pauseReason`   |
 * | CANCELED | SENDING, PAUSED  | canceled; `completedAt` is set when every batch is DONE                    |
 * | SENT     | SENDING, PAUSED  | every batch is DONE                                                        |
 *
 * | batch    | from             | when                                                                       |
 * |----------|------------------|----------------------------------------------------------------------------|
 * | PENDING  |                  | created with the campaign's `send`, with a row of `work`; claimed or not   |
 * |          | DONE             | the campaign is retried                                                    |
 * | DONE     | PENDING          | finished: no recipient is pending                                          |
 *
 * | recipient   | from                 | when                                                                |
 * |-------------|----------------------|---------------------------------------------------------------------|
 * | (no row)    |                      | pending: in a batch, not claimed yet                                |
 * | SENDING     | (no row), WAITING    | claimed with the group in `token`; pending for the API              |
 * | WAITING     | SENDING              | certainly not sent, to be claimed again; pending for the API        |
 * |             | FAILED, INTERRUPTED  | the campaign is retried                                             |
 * | SENT        | SENDING, INTERRUPTED | accepted by the mail server                                         |
 * | FAILED      | SENDING, INTERRUPTED | rejected or not rendered; only a user can retry it                  |
 * | SKIPPED     | (no row), WAITING    | no longer subscribed when claimed, or the campaign was canceled     |
 * |             | SENDING              | no longer subscribed, or at another address, when it was its turn   |
 * | INTERRUPTED | SENDING              | may have been sent: ambiguous response, crash, lost outcome         |
 * |             | (no row), WAITING    | pending in a restored backup: may have been sent since              |
 */
import { sql } from 'drizzle-orm'
import { boolean, index, integer, text, uuid } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, oneOf, id } from './columns.ts'
import { bounceClasses } from './mail.ts'
import { tenantTable } from './tenant-table.ts'
import { lists } from './lists.ts'
import { segments } from './segments.ts'

export const campaignStatuses = ['DRAFT', 'SENDING', 'PAUSED', 'SENT', 'CANCELED'] as const

export const campaigns = tenantTable(
  'campaigns',
  {
    id: id('cmp').notNull(),
    /** ON DELETE SET NULL (list_id): the migration names the column, which Drizzle cannot express. */
    listId: id('lst'),
    /** Narrows the subscribers of the list. Null for all of them, and after an ended campaign lost its segment. */
    segmentId: id('seg'),
    name: text().notNull(),
    subject: text().notNull(),
    status: text({ enum: campaignStatuses }).notNull().default('DRAFT'),
    html: text(),
    text: text(),
    /** The size of `html` and `text`, for the quota: reading them to measure them would be slow. */
    bodyBytes: integer()
      .notNull()
      .generatedAlwaysAs(sql`coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)`),
    fromName: text(),
    fromEmail: text(),
    replyTo: text(),
    trackOpens: boolean().notNull().default(false),
    trackClicks: boolean().notNull().default(false),
    webVersion: boolean().notNull().default(true),
    queued: integer().notNull().default(0),
    /** Why a worker paused the campaign; null if a user paused it. */
    pauseReason: text(),
    /** When a user resumed the campaign after its rate of bounces or complaints had paused it. The rates are ignored since. */
    ratesAcceptedAt: timestamptz(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    sentAt: timestamptz(),
    completedAt: timestamptz(),
  },
  {
    key: ['id'],
    references: { listId: lists, segmentId: segments },
    extra: (t) => [
      // A Message-ID does not name the workspace.
      index('campaigns_id_index').on(t.id),
      index('campaigns_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('campaigns_list_index').on(t.workspaceId, t.listId),
      index('campaigns_segment_index').on(t.workspaceId, t.segmentId).where(sql`${t.segmentId} is not null`),
      oneOf('campaigns_status_check', t.status, campaignStatuses),
    ],
  },
)

const batchStatuses = ['PENDING', 'DONE'] as const

/** A part of the recipients of a campaign, fixed at `send`. Each batch is one job. */
export const campaignBatches = tenantTable(
  'campaign_batches',
  {
    id: id('bat').notNull(),
    campaignId: id('cmp').notNull(),
    /** UUIDs. An array has no foreign key: a contact that was deleted is SKIPPED when it is claimed. */
    contactIds: uuid().array().notNull(),
    status: text({ enum: batchStatuses }).notNull().default('PENDING'),
    /**
     * Recipients per final status, updated in the statement that changes the recipients: see
     * `updateRecipientCounters`.
     */
    sent: integer().notNull().default(0),
    failed: integer().notNull().default(0),
    skipped: integer().notNull().default(0),
    interrupted: integer().notNull().default(0),
    /** The number of recipients with at least one such event. */
    opened: integer().notNull().default(0),
    clicked: integer().notNull().default(0),
    unsubscribed: integer().notNull().default(0),
    bounced: integer().notNull().default(0),
    complained: integer().notNull().default(0),
    /** Opens and clicks that belong to no recipient. Each counts on any of the first batches: see `countAnonymously`. */
    anonymousOpens: integer().notNull().default(0),
    anonymousClicks: integer().notNull().default(0),
  },
  {
    key: ['id'],
    ownedBy: { campaignId: campaigns },
    extra: (t) => [
      index('campaign_batches_campaign_index').on(t.workspaceId, t.campaignId),
      index('campaign_batches_open_index').on(t.workspaceId, t.campaignId, t.id).where(sql`${t.status} <> 'DONE'`),
      oneOf('campaign_batches_status_check', t.status, batchStatuses),
    ],
  },
)

/**
 * How often the links of a campaign were clicked. A link is its position in the HTML: no URL is stored, as it may name a
 * person. `slot` spreads the clicks over several rows, so that they rarely wait for each other.
 */
export const campaignLinkClicks = tenantTable(
  'campaign_link_clicks',
  {
    campaignId: id('cmp').notNull(),
    position: integer().notNull(),
    slot: integer().notNull(),
    clicks: integer().notNull().default(0),
    anonymousClicks: integer().notNull().default(0),
  },
  { key: ['campaignId', 'position', 'slot'], ownedBy: { campaignId: campaigns } },
)

const recipientStatuses = ['SENDING', 'WAITING', 'SENT', 'FAILED', 'SKIPPED', 'INTERRUPTED'] as const

/**
 * One row for each recipient that was claimed, skipped or interrupted. Only the job that moves it to SENDING may
 * send to the recipient. Rows outlive their contact, so that the counters of the campaign stay exact.
 */
export const campaignRecipients = tenantTable(
  'campaign_recipients',
  {
    campaignId: id('cmp').notNull(),
    contactId: id('con').notNull(),
    batchId: id('bat').notNull(),
    status: text({ enum: recipientStatuses }).notNull(),
    attempts: integer().notNull().default(1),
    /** The token of the last attempt: see `work/claims.ts`. */
    token: uuid(),
    error: text(),
    /** A hash of the id that the mail server gave the email. See `hashProviderMessageId`. */
    providerMessageHash: uuid(),
    createdAt: createdAt(),
    endedAt: timestamptz(),
    /** Whether the email tracks the recipient as a person. Null as false. */
    opensTracked: boolean(),
    clicksTracked: boolean(),
    /** The time of the first such event. */
    openedAt: timestamptz(),
    clickedAt: timestamptz(),
    unsubscribedAt: timestamptz(),
    bouncedAt: timestamptz(),
    complainedAt: timestamptz(),
    /** Of a bounce that was reported, or of the refusal while sending: see `mail/bounces/classify-bounce.ts`. */
    bounceClass: text({ enum: bounceClasses }),
    bounceCode: text(),
  },
  {
    key: ['campaignId', 'contactId'],
    ownedBy: { campaignId: campaigns },
    extra: (t) => [
      // For filters on what a contact did with any campaign.
      index('campaign_recipients_contact_index').on(t.workspaceId, t.contactId),
      index('campaign_recipients_batch_index').on(t.workspaceId, t.batchId),
      index('campaign_recipients_created_index').on(t.workspaceId, t.campaignId, t.createdAt, t.contactId),
      index('campaign_recipients_status_index').on(t.workspaceId, t.campaignId, t.status, t.createdAt, t.contactId),
      // For the rates at which a campaign pauses, and its statistics.
      index('campaign_recipients_bounce_index')
        .on(t.workspaceId, t.campaignId, t.bounceClass, t.createdAt)
        .where(sql`${t.bounceClass} is not null`),
      // Reports of mail providers do not name the workspace.
      index('campaign_recipients_provider_message_index')
        .on(t.providerMessageHash)
        .where(sql`${t.providerMessageHash} is not null`),
      oneOf('campaign_recipients_status_check', t.status, recipientStatuses),
      oneOf('campaign_recipients_bounce_class_check', t.bounceClass, bounceClasses),
    ],
  },
)
