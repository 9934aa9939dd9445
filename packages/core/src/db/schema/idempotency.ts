import { index, integer, text } from 'drizzle-orm/pg-core'
import { createdAt } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export const idempotencyRecords = tenantTable(
  'idempotency_records',
  {
    /** The id of the user or API key, a line break, and the `Idempotency-Key`. */
    key: text().notNull(),
    /** Keyed: the request may contain a value that can be guessed, such as a code of six digits. */
    requestHash: text().notNull(),
    status: integer().notNull(),
    location: text(),
    /** The response body, encrypted: it may contain a secret that is shown only once. */
    body: text().notNull(),
    createdAt: createdAt(),
  },
  { key: ['key'], extra: (t) => [index('idempotency_records_created_index').on(t.createdAt)] },
)
