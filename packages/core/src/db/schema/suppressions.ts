import { index, text } from 'drizzle-orm/pg-core'
import { timestamptz } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

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
