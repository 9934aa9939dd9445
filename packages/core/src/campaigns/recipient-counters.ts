import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'

/**
 * As a member of a `with` list: counts in the batches what the earlier member `changed` did to recipients. It says of
 * each `workspace_id`, `batch_id`, and which status it `was` and `became`. So a campaign's sums come from its batches,
 * two hundred people a row, and are true at every instant, as they change in the statement that changes the people.
 */
export function updateRecipientCounters(changed: string): SQL {
  const difference = (status: string) =>
    sql.raw(`count(*) filter (where became = '${status}') - count(*) filter (where was = '${status}')`)
  return sql`
    tallied as (
      update campaign_batches b
      set sent = b.sent + d.sent, failed = b.failed + d.failed,
        skipped = b.skipped + d.skipped, interrupted = b.interrupted + d.interrupted
      from (
        select workspace_id, batch_id, ${difference('SENT')} as sent, ${difference('FAILED')} as failed,
          ${difference('SKIPPED')} as skipped, ${difference('INTERRUPTED')} as interrupted
        from ${sql.identifier(changed)} group by workspace_id, batch_id) d
      where b.workspace_id = d.workspace_id and b.id = d.batch_id
        and (d.sent, d.failed, d.skipped, d.interrupted) <> (0, 0, 0, 0))`
}

/** Makes the recipients that match the condition INTERRUPTED, and counts them. */
export async function interruptRecipients(db: Db, condition: SQL, error: string): Promise<number> {
  const interrupted = await db.execute<{ count: number }>(sql`
    with interrupted as (
      update campaign_recipients set status = 'INTERRUPTED', error = ${error}, settled_at = now()
      where ${condition}
      returning workspace_id, batch_id, old.status as was, new.status as became),
    ${updateRecipientCounters('interrupted')}
    select count(*)::int as count from interrupted`)
  return interrupted.rows[0]?.count ?? 0
}
