import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { campaignRecipients } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { int, text, timestamptz, uuid } from '../db/statements/sql-types.ts'
import type { Ctx } from '../request/context.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/**
 * Returns a CTE that updates the recipient counters of batches. `changedCte` is the name of an earlier CTE in the same
 * statement. That CTE changes recipients of one workspace and returns, for each of them, `batch_id`, the old status
 * `was` and the new status `became`. `was` may be null for a new or WAITING row, because no counter includes WAITING.
 * If `was` can be one of several statuses, the statement locks the rows first and reads it from them: a join without a
 * lock may return the status from before a concurrent change. PostgreSQL 18 has RETURNING OLD, older versions do not.
 *
 * Recipients and counters change in one statement, so that the counters are exact in every snapshot. The counters of a
 * campaign are the sums over its batches: one row per 200 recipients. `bounced` is the change of that counter, an aggregate
 * over the CTE: a row can be updated only once in a statement.
 */
export function updateRecipientCounters(changedCte: string, workspaceUuid: SQLWrapper, bounced = sql`0`): SQL {
  const difference = (status: string) =>
    sql.raw(`count(*) filter (where became = '${status}') - count(*) filter (where was = '${status}')`)
  return sql`
    counted as (
      update campaign_batches b
      set sent = b.sent + d.sent, failed = b.failed + d.failed,
        skipped = b.skipped + d.skipped, interrupted = b.interrupted + d.interrupted, bounced = b.bounced + d.bounced
      from (
        select batch_id, ${difference('SENT')} as sent, ${difference('FAILED')} as failed,
          ${difference('SKIPPED')} as skipped, ${difference('INTERRUPTED')} as interrupted, ${bounced} as bounced
        from ${sql.identifier(changedCte)} group by batch_id) d
      where b.workspace_id = ${workspaceUuid} and b.id = d.batch_id
        and (d.sent, d.failed, d.skipped, d.interrupted) <> (0, 0, 0, 0))`
}

/** Sets the SENDING recipients of a batch to INTERRUPTED. Returns their number. */
export async function interruptRecipients(
  { db, workspaceId }: Pick<Ctx, 'db' | 'workspaceId'>,
  batchUuid: string,
  error: string,
): Promise<number> {
  const [interrupted] = await interruptBatch(db, { workspaceId, batchUuid, error, now: timestampNow() })
  return interrupted?.count ?? 0
}

const interruptBatch = namedStatement('interrupt recipients', {
  params: { workspaceId: campaignRecipients.workspaceId, batchUuid: uuid, error: text, now: timestamptz },
  columns: { count: int },
  sql: ({ workspaceId, batchUuid, error, now }) => sql`
    with interrupted as (
      update campaign_recipients set status = 'INTERRUPTED', error = ${error}, ended_at = ${now}
      where workspace_id = ${workspaceId} and status = 'SENDING' and batch_id = ${batchUuid}
      returning batch_id, 'SENDING' as was, status as became),
    ${updateRecipientCounters('interrupted', workspaceId)}
    select count(*)::int as count from interrupted`,
})
