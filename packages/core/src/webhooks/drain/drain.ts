/**
 * The drain of a workspace: one job at a time sends the PENDING deliveries of all its webhooks.
 *
 *      claim ─▶ take ─▶ POST … POST ─▶ record the outcomes ─▶ take ─▶ … ─▶ nothing taken, nothing in flight: done
 *     └── transaction ─┘              └──── transaction of a step ────┘
 *
 * - The claim inserts the row of `work`; the step after which nothing is in flight deletes it. A change that creates
 *   deliveries never touches this row: the PENDING deliveries are the queue, and `findBacklogs` finds them.
 * - `work.in_flight` contains the deliveries that may be out. A delivery itself is PENDING until its outcome is recorded.
 *   If the worker crashes, recovery marks the deliveries in `in_flight` as INTERRUPTED.
 * - Every step requires the token of the step before and writes a new one. So the following take nothing: a second job of
 *   the workspace, a job whose claim was recovered, and a statement that arrives after its retry.
 * - A step locks the row of `work` before it reads deliveries, so it sees everything that the former owner recorded. Then
 *   it updates what ended and, in the order of their ids, the health of those webhooks, and locks webhooks FOR SHARE:
 *   disabling and deleting wait for the step, and later steps see that change.
 * - A take reads the PENDING deliveries in the order of `created_at`. A cursor would miss an older delivery of a slow
 *   transaction that commits later.
 */
import { randomUUID } from 'node:crypto'
import { not, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { work } from '../../db/schema/index.ts'
import { timestamptz, uuid } from '../../db/statements/sql-types.ts'
import { transaction } from '../../db/transaction.ts'
import { isInStoppedWorkspace } from '../../request/workspace-state.ts'
import { finishClaim, insertClaim } from '../../work/claims.ts'
import { drainId } from '../../work/queues.ts'
import { failAbandonedDeliveries } from './abandoned-deliveries.ts'
import type { EndedDelivery } from './delivery-outcome.ts'
import { type DrainClaim, lockDrain } from './drain-claim.ts'
import { hasBacklog } from './find-backlogs.ts'
import { indexScanSettings } from './index-scan-settings.ts'
import { recordOutcomes } from './record-outcomes.ts'
import { takeDeliveries, type TakeLimits, type TakenDelivery } from './take-deliveries.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'

export interface TakeResult {
  /** Those of a webhook are in the order of their creation. If there are none and none is in flight, the claim has ended. */
  deliveries: TakenDelivery[]
  /** Whether more deliveries could be taken now, within other limits. */
  hasMore: boolean
}

/**
 * Claims the backlog of a workspace and takes its oldest deliveries. Returns undefined if there is none, if another job
 * has it, or if the workspace is suspended or deleted. After an error, the caller must call
 * `releaseUnacknowledgedDrain`, because the claim may have been committed.
 */
export function claimDrain(db: Db, claim: DrainClaim, limits: TakeLimits): Promise<TakeResult | undefined> {
  return runWithNewToken(db, claim, async (db, claim, token) => {
    const { workspaceId, workerId } = claim
    const claimed = await claimBacklog(db, { workspaceId, workerId, token, now: timestampNow() })
    return claimed.length > 0 ? takeNext(db, claim, { token, inFlight: [], limits }) : undefined
  })
}

/** One step of a drain: the outcomes to record, and how many deliveries to take. */
export interface DrainStep {
  ended: readonly EndedDelivery[]
  /** The UUIDs of the deliveries whose requests are still running. */
  inFlight: readonly string[]
  limits: TakeLimits
}

/**
 * Records outcomes and takes the next deliveries. Returns undefined if the claim was recovered; the outcomes are recorded
 * nevertheless. Can be retried after an error.
 */
export function recordAndTakeNext(db: Db, claim: DrainClaim, step: DrainStep): Promise<TakeResult | undefined> {
  return runWithNewToken(db, claim, async (db, claim, token) => {
    const isOwner = await recordOutcomes(db, claim, step.ended)
    return isOwner ? takeNext(db, claim, { ...step, token }) : undefined
  })
}

/** Ends a claim that had no response: what it took was certainly not sent. */
export async function releaseUnacknowledgedDrain(db: Db, claim: DrainClaim): Promise<void> {
  await lockDrain(db, claim.workspaceId, (db) => finishClaim({ db }, claim))
}

/**
 * Runs a step with a new token. After an error, `claim.tokens` contains the former tokens and the new one, because the
 * transaction may have been committed or not. What the step learns of receivers is kept once it is committed.
 */
async function runWithNewToken<Result>(
  db: Db,
  claim: DrainClaim,
  attempt: (db: Db, claim: DrainClaim, token: string) => Promise<Result>,
): Promise<Result> {
  const token = randomUUID()
  const receivers = new Map(claim.receivers)
  const step = (db: Db) => {
    claim.tokens = [...claim.tokens, token]
    return attempt(db, { ...claim, receivers }, token)
  }
  const result = await transaction(db, step, indexScanSettings)
  Object.assign(claim, { tokens: [token], receivers })
  return result
}

/** The job of a workspace writes nothing if the poll would not find it. Returns a row if it has the claim. */
const claimBacklog = namedStatement('claim a drain', {
  isPrepared: true,
  params: { workspaceId: work.workspaceId, workerId: uuid, token: uuid, now: timestamptz },
  columns: { id: work.id },
  sql: (param) =>
    insertClaim(
      { ...param, id: sql`${drainId}::uuid`, kind: sql`'DRAIN'` },
      sql`${hasBacklog(param.workspaceId, param.now)} and ${not(isInStoppedWorkspace(param.workspaceId))}`,
    ),
})

async function takeNext(
  db: Db,
  claim: DrainClaim,
  step: Omit<DrainStep, 'ended'> & { token: string },
): Promise<TakeResult> {
  const { deliveries, hasMore, hasAbandoned } = await takeDeliveries(db, claim, step)
  for (const { webhookId, unreachableCount } of deliveries) {
    const known = claim.receivers.get(webhookId)
    claim.receivers.set(webhookId, { ...known, unreachableCount })
  }
  const hasMoreAbandoned = hasAbandoned && (await failAbandonedDeliveries(db, claim, step.inFlight))
  return { deliveries, hasMore: hasMore || hasMoreAbandoned }
}
