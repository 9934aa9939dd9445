import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import type { Retention } from '../kernel/retention.ts'

/** Deletes up to 1,000 emails that ended before the retention. Returns their number. */
export async function purgeEmails(db: Db, { emailsDays }: Retention): Promise<number> {
  if (emailsDays === 0) return 0
  const result = await db.execute(sql`
    delete from emails where (workspace_id, id) in (
      select workspace_id, id from emails where ended_at < now() - ${emailsDays} * interval '1 day' limit 1000)`)
  return result.rowCount ?? 0
}
