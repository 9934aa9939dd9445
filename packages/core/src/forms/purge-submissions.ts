import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import type { Retention } from '../kernel/retention.ts'

const batchSize = 1_000

/**
 * Deletes a batch of submissions that are older than their retention. Returns their number. Reads the index of each
 * form, so that a run without expired records is cheap.
 */
export async function purgeSubmissions(db: Db, { submissionsDays }: Retention): Promise<number> {
  if (submissionsDays === 0) return 0
  const result = await db.execute(sql`
    delete from form_submissions where (workspace_id, id) in (
      select old.workspace_id, old.id from forms p cross join lateral (
        select workspace_id, id from form_submissions
        where workspace_id = p.workspace_id and form_id = p.id
          and created_at < now() - ${submissionsDays} * interval '1 day'
        order by created_at limit ${batchSize}) old
      limit ${batchSize})`)
  return result.rowCount ?? 0
}
