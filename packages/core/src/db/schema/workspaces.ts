import { boolean, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import type { QuotaName } from '../../kernel/quotas.ts'
import { timestamptz, createdAt, id, oneOf } from './columns.ts'

/** What emails may record of opens and clicks, the strictest first: see `consent/tracking/tracking-level.ts`. */
export const trackingLevels = ['OFF', 'ANONYMOUS', 'PERSON'] as const

export const workspaces = pgTable(
  'workspaces',
  {
    id: id('wsp').primaryKey(),
    name: text().notNull(),
    currency: text().notNull().default('EUR'),
    fromName: text(),
    fromEmail: text(),
    postalAddress: text(),
    /** The logo and the color of the hosted pages: forms, confirmation and unsubscribe pages. */
    logoUrl: text(),
    accentColor: text(),
    /** The language of pages and mails for which nothing else decides. */
    locale: text(),
    /** Whether a contact that gets another address must confirm its subscriptions again. */
    confirmChangedAddress: boolean().notNull().default(false),
    /** The level for contacts who have neither granted nor denied tracking. */
    trackingWithoutConsent: text({ enum: trackingLevels }).notNull().default('ANONYMOUS'),
    /** Set by the operator for this workspace, instead of the quotas of the installation. 0: no limit. */
    quotas: jsonb().$type<Partial<Record<QuotaName, number>>>().notNull().default({}),
    /** Set by the operator: a suspended workspace can be read, but it neither changes nor sends anything. */
    suspendedAt: timestamptz(),
    /** The `--idempotency-key` with which the operator created the workspace. A row with a new id keeps it afterward. */
    creationKey: text().unique('workspaces_creation_key'),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    /** Soft delete: the worker deletes the data of the workspace, then the row. */
    deletedAt: timestamptz(),
  },
  (t) => [oneOf('workspaces_tracking_check', t.trackingWithoutConsent, trackingLevels)],
)
