/**
 * The statuses of a single mail.
 *
 * | mail        | from         | when                                                                            |
 * |-------------|--------------|---------------------------------------------------------------------------------|
 * | PENDING     |              | enqueued, with a row of `work`; claimed or not. One that a visitor asked for    |
 * |             |              | waits without such a row until it is released: see `visitorMails`               |
 * |             | PENDING      | refused for now, or unknown and better sent twice than not; attempts are left   |
 * | SENT        | PENDING      | accepted by the mail server                                                     |
 * |             | INTERRUPTED  | the same, recorded late                                                         |
 * | FAILED      | PENDING      | refused, or nothing to send                                                     |
 * |             | INTERRUPTED  | refused, recorded late                                                          |
 * | INTERRUPTED | PENDING      | may have been sent: ambiguous response, crash, restored backup                  |
 */
import { sql } from 'drizzle-orm'
import { bigint, index, integer, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'
import type {
  CampaignId,
  ContactId,
  InviteId,
  ListId,
  PasswordResetId,
  TemplateId,
  UserId,
  WebhookId,
} from '../../kernel/ids.ts'
import { timestamptz, createdAt, lower, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

/** What a visitor asks for on a page or form, or a contact is asked to confirm. */
export const requestedMailKinds = ['CONFIRMATION', 'TRACKING_CONSENT', 'PERSONAL_DATA'] as const

export const mailKinds = [
  ...requestedMailKinds,
  'CAMPAIGN_TEST',
  'INVITE',
  'PASSWORD_RESET',
  'EMAIL_VERIFICATION',
  'WEBHOOK_FAILING',
  'WEBHOOK_DISABLED',
  'CONFIRMATIONS_WITHHELD',
  'TEMPLATE_PAUSED',
] as const

/** What the quotas of emails count: single mails, and emails from templates. */
const mailRequestKinds = [...mailKinds, 'EMAIL'] as const

/** See `mail/bounces/classify-bounce.ts`. */
export const bounceClasses = ['HARD', 'SOFT', 'MESSAGE', 'POLICY'] as const

export const mailStatuses = ['PENDING', 'SENT', 'FAILED', 'INTERRUPTED'] as const

/** The data for the template of an email. */
export interface MailData {
  userId?: UserId
  passwordResetId?: PasswordResetId
  inviteId?: InviteId
  listId?: ListId
  campaignId?: CampaignId
  contactId?: ContactId | null
  webhookId?: WebhookId
  templateId?: TemplateId
  /** What the link in the mail grants: see `consent/tracking`. */
  tracking?: ('opens' | 'clicks')[]
  /** The language of the page or form on which the recipient asked for the mail. */
  locale?: string
}

/** Single emails. `data` contains ids for the template, never a secret. */
export const mails = tenantTable(
  'mails',
  {
    id: id('mai').notNull(),
    kind: text({ enum: mailKinds }).notNull(),
    toAddress: text().notNull(),
    data: jsonb().$type<MailData>().notNull(),
    status: text({ enum: mailStatuses }).notNull().default('PENDING'),
    /** The attempts that have ended. */
    attempts: integer().notNull().default(0),
    /** The token of the last attempt: see `work/claims.ts`. */
    token: uuid(),
    error: text(),
    /** A hash of the id that the mail server gave the email. See `hashProviderMessageId`. */
    providerMessageHash: uuid(),
    createdAt: createdAt(),
    endedAt: timestamptz(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('mails_created_index').on(t.createdAt),
      index('mails_address_index').on(t.workspaceId, lower(t.toAddress)),
      index('mails_contact_index').on(t.workspaceId, sql`(${t.data} ->> 'contactId')`),
      index('mails_provider_message_index').on(t.providerMessageHash).where(sql`${t.providerMessageHash} is not null`),
      oneOf('mails_kind_check', t.kind, mailKinds),
      oneOf('mails_status_check', t.status, mailStatuses),
    ],
  },
)

/**
 * The emails that were requested in the last day, for the quotas of emails. Separate from `mails`: rows outlive the
 * contact, the list and the invite, so that deleting these does not reset a quota.
 */
export const mailRequests = tenantTable(
  'mail_requests',
  {
    id: id('mai').notNull(),
    kind: text({ enum: mailRequestKinds }).notNull(),
    /** A keyed hash of the address: see `normalizeAddress`. */
    addressHash: text().notNull(),
    /** The list of a confirmation. */
    listId: id('lst'),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('mail_requests_address_index').on(t.workspaceId, t.addressHash, t.kind, t.createdAt),
      index('mail_requests_kind_index').on(t.workspaceId, t.kind, t.createdAt),
      index('mail_requests_created_index').on(t.createdAt),
    ],
  },
)

const visitorMailStatuses = ['WAITING', 'WITHHELD', 'RELEASED', 'GIVEN_UP', 'REPLACED'] as const

/**
 * The mails that visitors asked for, in workspaces with a budget for them: see `mail/budget`. The mail is in `mails`,
 * PENDING, and has a row of `work` only once it is released. Rows outlive the mail and the contact, so that deleting
 * these does not change what was counted.
 *
 * | status   | from              | when                                                                              |
 * |----------|-------------------|-----------------------------------------------------------------------------------|
 * | WAITING  |                   | a visitor asked for the mail                                                      |
 * |          | RELEASED          | the attempt may have sent it: another one is counted again                        |
 * | WITHHELD | WAITING           | the budget is used up                                                             |
 * | RELEASED | WAITING, WITHHELD | counted, in the transaction that enqueues the mail                                |
 * | GIVEN_UP | WAITING, WITHHELD | it has waited for 24 hours, its list was deleted, or a backup was restored        |
 * | REPLACED | all but RELEASED  | a later mail asks the contact, or the contact or its subscription is gone         |
 */
export const visitorMails = tenantTable(
  'visitor_mails',
  {
    /** The id of the mail. */
    id: id('mai').notNull(),
    kind: text({ enum: requestedMailKinds }).notNull(),
    /** The list of a confirmation. */
    listId: id('lst'),
    /** Null after its erasure. */
    contactId: id('con'),
    status: text({ enum: visitorMailStatuses }).notNull().default('WAITING'),
    /** How many mails the budget counts: one for each release. */
    releases: integer().notNull().default(0),
    releasedAt: timestamptz(),
    /** When the contact used the link of the mail. */
    usedAt: timestamptz(),
    /** When an event said that this mail, and perhaps others of its list, are withheld. */
    toldAt: timestamptz(),
    /** When the visitor asked: mails are released in this order. A mail that replaces another one keeps its place. */
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('visitor_mails_waiting_index')
        .on(t.workspaceId, t.kind, t.createdAt, t.id)
        .where(sql`${t.status} in ('WAITING', 'WITHHELD')`),
      index('visitor_mails_new_index').on(t.workspaceId).where(sql`${t.status} = 'WAITING'`),
      index('visitor_mails_withheld_index')
        .on(t.workspaceId, t.listId, t.status, t.contactId)
        .where(sql`${t.status} in ('WITHHELD', 'GIVEN_UP')`),
      index('visitor_mails_contact_index').on(t.workspaceId, t.contactId, t.createdAt),
      index('visitor_mails_released_index').on(t.workspaceId, t.releasedAt).where(sql`${t.releasedAt} is not null`),
      index('visitor_mails_used_index').on(t.workspaceId, t.usedAt).where(sql`${t.usedAt} is not null`),
      index('visitor_mails_told_index').on(t.workspaceId, t.toldAt).where(sql`${t.toldAt} is not null`),
      index('visitor_mails_created_index').on(t.createdAt),
      oneOf('visitor_mails_kind_check', t.kind, requestedMailKinds),
      oneOf('visitor_mails_status_check', t.status, visitorMailStatuses),
    ],
  },
)

/** Hashes of processed reports of mail providers, so that a repeated report counts once. */
export const mailReports = tenantTable(
  'mail_reports',
  {
    fingerprint: text().notNull(),
    createdAt: createdAt(),
  },
  { key: ['fingerprint'], extra: (t) => [index('mail_reports_created_index').on(t.createdAt)] },
)

/**
 * The mail rate limiter (one row for campaigns, one for single mails): when the next mail may be sent. MAIL_RATE
 * applies to all workers together.
 */
export const mailRates = pgTable('mail_rates', {
  id: bigint({ mode: 'number' }).primaryKey(),
  /** With microseconds: at 1,000 mails per second, milliseconds would be too coarse. */
  nextAt: timestamp({ withTimezone: true, mode: 'date' }).notNull().defaultNow(),
})
