import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { deliveries } from '../../db/schema/index.ts'
import { text } from '../../db/statements/sql-types.ts'
import { transaction } from '../../db/transaction.ts'
import { type Claim, finishClaim, lockClaim, type Recovery } from '../../work/claims.ts'
import { publishDrain } from '../../work/publisher.ts'
import { drainId } from '../../work/queues.ts'

/**
 * Ends the claim of a drain whose outcome is unknown. Deliveries that may have been sent become INTERRUPTED; the rest of
 * the backlog remains PENDING. Returns the number of interrupted deliveries. Does nothing if the claim has ended.
 */
export function recoverDrain(db: Db, claim: Claim, { error }: Recovery): Promise<number> {
  const { workspaceId } = claim
  return transaction(db, async (db) => {
    if (!(await lockClaim({ db }, claim))) return 0
    const interrupted = await interruptInFlight(db, { workspaceId, error })
    await finishClaim({ db }, claim)
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
