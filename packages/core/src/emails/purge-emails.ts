import { lt, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { emails } from '../db/schema/index.ts'
import { purgeRows } from '../db/statements/purge-rows.ts'
import type { Retention } from '../kernel/retention.ts'

/** Deletes up to 1,000 emails that ended before the retention. Returns their number. */
export async function purgeEmails(db: Db, { emailsDays }: Retention): Promise<number> {
  if (emailsDays === 0) return 0
  return purgeRows(db, emails, lt(emails.endedAt, sql`now() - ${emailsDays} * interval '1 day'`))
}
