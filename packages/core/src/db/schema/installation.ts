import { sql } from 'drizzle-orm'
import { check, integer, pgTable, text } from 'drizzle-orm/pg-core'

/** One row, from the first start of a process. */
export const installation = pgTable(
  'installation',
  {
    id: integer().primaryKey().default(1),
    /** Sealed with SECRET_KEY: a process whose keys cannot open it does not run. */
    sealedCheck: text().notNull(),
  },
  (t) => [check('installation_id_check', sql`${t.id} = 1`)],
)
