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

/** Deletes a batch of submissions of deleted forms, or, if none is left, the forms. Returns the number of rows. */
export async function purgeForms(db: Db): Promise<number> {
  // A visitor may have read the form before it was deleted.
  const isGone = sql`f.deleted_at < now() - interval '1 minute'`
  const purged = await db.execute(sql`
    delete from form_submissions where (workspace_id, id) in (
      select s.workspace_id, s.id from forms f
      join form_submissions s on s.workspace_id = f.workspace_id and s.form_id = f.id
      where ${isGone} limit ${batchSize})`)
  if (purged.rowCount) return purged.rowCount
  const deleted = await db.execute(sql`
    delete from forms f where ${isGone} and not exists (
      select from form_submissions s where s.workspace_id = f.workspace_id and s.form_id = f.id)`)
  return deleted.rowCount ?? 0
}
