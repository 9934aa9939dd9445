/** The claim of a drain, which is the row of `work` of the kind DRAIN: see `drain.ts`. */
import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { work as workTable } from '../../db/schema/index.ts'
import { transaction } from '../../db/transaction.ts'
import type { WebhookId, WorkspaceId } from '../../kernel/ids.ts'
import type { Claim } from '../../work/claims.ts'
import { finishUnclaimedWork } from '../../work/enqueue.ts'
import { drainId } from '../../work/queues.ts'
import type { Timestamp } from '../../kernel/values/timestamps.ts'

/** What a job knows of a receiver. */
export interface KnownReceiver {
  /** The number of consecutive rounds without a response in the database when the job last read it. */
  unreachableCount: number
  /** The end of the last round that showed whether the receiver responds, see `getReachabilityOutcomes`. */
  reachabilityKnownAt?: Timestamp
}

/** The claim of one job. The functions of `drain.ts` update it. */
export interface DrainClaim extends Claim {
  readonly kind: 'DRAIN'
  /** What the job knows of the receivers to which it has sent something. */
  receivers: Map<WebhookId, KnownReceiver>
  /** The first pause of an unreachable receiver. */
  readonly firstPauseMs?: number
}

/** A claim that is not made yet. */
export function prepareDrain(of: { workspaceId: WorkspaceId; workerId: string; firstPauseMs?: number }): DrainClaim {
  return { ...of, kind: 'DRAIN', id: drainId, tokens: [], receivers: new Map() }
}

/**
 * Runs `work` in a transaction in which no job can take deliveries of the workspace. Inserts the row if there is none: only
 * an insert waits for the insert of a claim that is not committed yet. One statement inserts or locks: between two, a step
 * could delete the row. `inFlight` contains the UUIDs of the deliveries that may be out.
 */
export function lockDrain<Result>(
  db: Db,
  workspaceId: WorkspaceId,
  work: (db: Db, inFlight: string[]) => Promise<Result>,
): Promise<Result> {
  return transaction(db, async (db) => {
    const [drain] = await lockOrInsert(db, { workspaceId })
    const result = await work(db, drain?.inFlight ?? [])
    await finishUnclaimedWork({ db, workspaceId }, [drainId])
    return result
  })
}

const lockOrInsert = namedStatement('lock a drain', {
  params: { workspaceId: workTable.workspaceId },
  columns: { inFlight: workTable.inFlight },
  sql: ({ workspaceId }) => sql`
    insert into work (workspace_id, id, kind)
    select id, ${drainId}::uuid, 'DRAIN' from workspaces where id = ${workspaceId}
    on conflict (workspace_id, id) do update set kind = excluded.kind
    returning in_flight`,
})
