import { sql } from 'drizzle-orm'
import { index, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, id, oneOf, timestamptz } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

/** The strictest first. */
export const suppressionReasons = ['COMPLAINED', 'OPTED_OUT', 'BOUNCED', 'MANUAL'] as const
export const suppressionSources = ['MAIL_EVENT', 'LINK', 'API', 'IMPORT'] as const

/** One of the reasons why an address is suppressed. `createdAt` is ISO 8601. */
export interface SuppressionReason {
  reason: (typeof suppressionReasons)[number]
  source: (typeof suppressionSources)[number]
  createdAt: string
}

/** Addresses to which the workspace sends no mail, as keyed hashes. See `subscriptions/suppression-reasons.ts`. */
export const suppressions = tenantTable(
  'suppressions',
  {
    id: id('sup').notNull().default(sql`uuidv7()`),
    emailHash: text().notNull(),
    /** The contact that has the address, if known. No foreign key: the suppression outlives the contact. */
    contactId: id('con'),
    /** At least one, the strictest first. */
    reasons: jsonb().$type<SuppressionReason[]>().notNull(),
    /** What the subscriptions of the contact become. */
    status: text({ enum: ['UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] }).notNull(),
    note: text(),
    createdAt: createdAt(),
    reason: text({ enum: suppressionReasons }).notNull().generatedAlwaysAs(sql`reasons #>> '{0,reason}'`),
    source: text({ enum: suppressionSources }).notNull().generatedAlwaysAs(sql`reasons #>> '{0,source}'`),
  },
  {
    key: ['emailHash'],
    extra: (t) => [
      uniqueIndex('suppressions_id_key').on(t.workspaceId, t.id),
      index('suppressions_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('suppressions_reason_index').on(t.workspaceId, t.reason, t.createdAt, t.id),
      index('suppressions_contact_index').on(t.workspaceId, t.contactId).where(sql`${t.contactId} is not null`),
      oneOf('suppressions_status_check', t.status, ['UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED']),
    ],
  },
)

/**
 * The mails of the last 180 days that had a SOFT bounce, by a keyed hash of the address: see
 * `suppressions/soft-bounces.ts`.
 */
export const softBounces = tenantTable(
  'soft_bounces',
  {
    emailHash: text().notNull(),
    /** When the mail was sent, or when the bounce was reported if the mail is not known. */
    mailedAt: timestamptz().notNull(),
  },
  { key: ['emailHash', 'mailedAt'], extra: (t) => [index('soft_bounces_mailed_index').on(t.mailedAt)] },
)
