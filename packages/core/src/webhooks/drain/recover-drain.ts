import { and, sql } from 'drizzle-orm'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { deliveries, work } from '../../db/schema/index.ts'
import { text } from '../../db/statements/sql-types.ts'
import { transaction } from '../../db/transaction.ts'
import { drainId } from '../../work/queues.ts'
import type { Claim, Recovery } from '../../work/claims.ts'
import type { WorkScope } from '../../work/enqueue.ts'
import { publishDrain } from '../../work/publisher.ts'
import { isDrainOf } from './drain-claim.ts'

/**
 * Ends the claim of a drain whose outcome is unknown. Deliveries that may have been sent become INTERRUPTED; the rest of
 * the backlog remains PENDING. Returns the number of interrupted deliveries. Does nothing if the claim has ended.
 */
export function recoverDrain({ db, workspaceId }: WorkScope, { tokens }: Claim, { error }: Recovery): Promise<number> {
  return transaction(db, async (db) => {
    const isHeld = sql`${work.token} = any(${sql.param([...tokens])}::uuid[])`
    const held = await db
      .select({ id: work.id })
      .from(work)
      .where(and(isDrainOf(workspaceId), isHeld))
      .for('update')
    if (held.length === 0) return 0
    const interrupted = await interruptInFlight(db, { workspaceId, error })
    await db.delete(work).where(isDrainOf(workspaceId))
    publishDrain(db, workspaceId)
    return interrupted
  })
}

/** The ids come from a CTE, to prevent partition pruning: see `take-deliveries.ts`. */
const interruptInFlight = namedStatement('interrupt the deliveries of a drain', {
  params: { workspaceId: deliveries.workspaceId, error: text },
  sql: ({ workspaceId, error }) => sql`
    with drain as materialized (
      select in_flight, worker_id, claimed_at from work where workspace_id = ${workspaceId} and id = ${drainId}::uuid)
    update deliveries d set status = 'INTERRUPTED', error = ${error},
      worker_id = (select worker_id from drain), attempted_at = (select claimed_at from drain)
    where d.workspace_id = ${workspaceId} and d.status = 'PENDING'
      and d.webhook_id = any(array(select id from webhooks w where w.workspace_id = ${workspaceId}))
      and d.id = any(array(select unnest(in_flight) from drain))`,
})
