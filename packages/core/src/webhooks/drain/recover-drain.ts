import { sql } from 'drizzle-orm'
import { transaction } from '../../db/transaction.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Claim, Recovery } from '../../work/claims.ts'
import type { WorkspaceWork } from '../../work/enqueue.ts'
import { publishDrain } from '../../work/publisher.ts'
import { isDrainOf } from './drain-claim.ts'

/**
 * Ends the claim of a drain whose outcome is unknown. Deliveries that may have been sent become INTERRUPTED; the rest of
 * the backlog remains PENDING. Returns the number of interrupted deliveries. Does nothing if the claim has ended.
 */
export function recoverDrain(
  { db, workspaceId }: WorkspaceWork,
  { tokens }: Claim,
  { error }: Recovery,
): Promise<number> {
  return transaction(db, async (db) => {
    const isHeld = sql`${isDrainOf(workspaceId)} and token = any(${sql.param([...tokens])}::uuid[])`
    const held = await db.execute<{ id: string }>(sql`select id from work where ${isHeld} for update`)
    if (held.rows.length === 0) return 0
    // The ids come from a CTE, to prevent partition pruning: see `take-deliveries.ts`.
    const interrupted = await db.execute(sql`
      with drain as materialized (
        select in_flight, worker_id, claimed_at from work where ${isDrainOf(workspaceId)})
      update deliveries d set status = 'INTERRUPTED', error = ${error},
        worker_id = (select worker_id from drain), attempted_at = (select claimed_at from drain)
      where d.workspace_id = ${uuidOf(workspaceId)} and d.status = 'PENDING'
        and d.webhook_id = any(array(select id from webhooks w where w.workspace_id = ${uuidOf(workspaceId)}))
        and d.id = any(array(select unnest(in_flight) from drain))`)
    await db.execute(sql`delete from work where ${isDrainOf(workspaceId)}`)
    publishDrain(db, workspaceId)
    return interrupted.rowCount ?? 0
  })
}
