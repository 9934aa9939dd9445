import { sql } from 'drizzle-orm'
import { bigint, index, integer, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'
import type { CampaignId, ContactId, InviteId, ListId, PasswordResetId, UserId, WebhookId } from '../../kernel/ids.ts'
import { timestamptz, createdAt, lower, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export const mailKinds = [
  'CONFIRMATION',
  'CAMPAIGN_TEST',
  'INVITE',
  'PASSWORD_RESET',
  'EMAIL_VERIFICATION',
  'WEBHOOK_FAILING',
  'WEBHOOK_DISABLED',
] as const

export const mailStatuses = ['PENDING', 'SENDING', 'SENT', 'FAILED', 'INTERRUPTED'] as const

/** What the template of a mail's kind reads. */
export interface MailData {
  userId?: UserId
  passwordResetId?: PasswordResetId
  inviteId?: InviteId
  listId?: ListId
  campaignId?: CampaignId
  contactId?: ContactId | null
  webhookId?: WebhookId
}

/** Single mails, each asked for by somebody's own act. `data` holds ids for the kind's template, never a secret. */
export const mails = tenantTable(
  'mails',
  {
    id: id('mai').notNull(),
    kind: text({ enum: mailKinds }).notNull(),
    toAddress: text().notNull(),
    data: jsonb().$type<MailData>().notNull(),
    status: text({ enum: mailStatuses }).notNull().default('PENDING'),
    attempts: integer().notNull().default(0),
    workerId: uuid(),
    error: text(),
    createdAt: createdAt(),
    settledAt: timestamptz(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('mails_worker_index').on(t.workerId).where(sql`${t.status} = 'SENDING'`),
      index('mails_created_index').on(t.createdAt),
      index('mails_invites_index').on(t.workspaceId, lower(t.toAddress), t.createdAt).where(sql`${t.kind} = 'INVITE'`),
      oneOf('mails_kind_check', t.kind, mailKinds),
      oneOf('mails_status_check', t.status, mailStatuses),
    ],
  },
)

/** The reports of mail providers that were taken, as hashes, so that one that is repeated counts once. */
export const mailReports = tenantTable(
  'mail_reports',
  {
    fingerprint: text().notNull(),
    createdAt: createdAt(),
  },
  { key: ['fingerprint'], extra: (t) => [index('mail_reports_created_index').on(t.createdAt)] },
)

/** One row: the moment from which the next mail may leave, so that MAIL_RATE holds over all workers. */
export const mailPace = pgTable('mail_pace', {
  id: bigint({ mode: 'number' }).primaryKey(),
  /** To the microsecond: at a thousand mails a second, milliseconds would round. */
  nextAt: timestamp({ withTimezone: true, mode: 'date' }).notNull().defaultNow(),
})
