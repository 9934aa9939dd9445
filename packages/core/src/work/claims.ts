/**
 * Claims: why nothing is sent twice.
 *
 * A job claims its work by writing a fresh token into the row of `work`, if there is none. From then on, every statement
 * for the work requires the token. One that hands out something to send, such as a group of recipients, writes a fresh
 * one; a chunk of an import requires its position too. Tokens are never used again, so a statement takes effect at most
 * once, whenever it arrives.
 *
 * | the process dies, or              | then                                                                            |
 * |-----------------------------------|---------------------------------------------------------------------------------|
 * | before the claim                  | the queue runs the job again, or the poll adds another; it may also run twice:  |
 * |                                   | the second one finds a token and does nothing                                   |
 * | with the claim, before it acts    | recovery, as in the next row: the database shows no difference                  |
 * | while it acts                     | recovery: what may be out becomes INTERRUPTED, unless a duplicate is better     |
 * |                                   | than none, as for a confirmation, or the act was a transaction, as for a chunk  |
 * | the response of the claim is lost | nothing was done yet: the job releases the claim, and what it handed out        |
 * | it is frozen, and goes on later   | recovery has ended its claim: it can hand out nothing more. Mails and           |
 * |                                   | recipients keep the token of their last attempt: the outcome of what was out is |
 * |                                   | recorded, unless another attempt has begun; "try again" is recorded as FAILED   |
 * | after the outcome was recorded    | nothing: the row was deleted in the same transaction                            |
 * | the response of the outcome is    | the job sends it again, and the result is the same                              |
 * | lost                              |                                                                                 |
 * | a release arrives after a new     | its token is gone: it changes nothing                                           |
 * | claim, on a frozen connection     |                                                                                 |
 *
 * Recovery is part of each heartbeat, every three seconds. A worker recovers the claims of workers that had no heartbeat
 * for 15 seconds, and those of its own that no job of it has anymore. It reads the claims first, and then the registered
 * workers and its jobs' claims; a worker registers, and a job enters its claim, before the claim is sent.
 *
 * The order of locks is: the subject, then its row in `work`, then what the subject owns.
 */
import { randomUUID } from 'node:crypto'
import { and, eq, inArray, isNotNull, isNull, not, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { work } from '../db/schema/index.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { isInStoppedWorkspace } from '../request/workspace-state.ts'
import type { WorkScope } from './enqueue.ts'
import { kindsOfWork, type WorkKind } from './kinds.ts'
import { hasPublisher, publishAfterCommit } from './publisher.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

export interface Claim {
  readonly workspaceId: WorkspaceId
  readonly kind: WorkKind
  /** The UUID of the subject. */
  readonly id: string
  readonly workerId: string
  /** The row has one of these tokens. There are several only after the response of a statement was lost. */
  tokens: readonly string[]
  /** The token of a statement whose response was lost: what it handed out was certainly not sent. */
  unsentToken?: string | undefined
}

/** A claim that is not made yet. */
export function prepareClaim(of: Pick<Claim, 'workspaceId' | 'kind' | 'id' | 'workerId'>): Claim {
  const { workspaceId, kind, id, workerId } = of
  return { workspaceId, kind, id, workerId, tokens: [randomUUID()] }
}

/**
 * When the rest of released work is published again:
 * - `requeue`: at once, unless it was delayed meanwhile.
 * - `retry`: after some seconds. The queue runs a job again that failed; otherwise the poll publishes the work ten
 *   seconds after it was last published.
 */
export type Release = 'requeue' | 'retry'

/** How a claim ends that a job did not end itself. */
export interface Recovery {
  /** The error of what becomes INTERRUPTED. */
  error: string
  release: Release
}

/** The token that the next statement writes. */
export const latestToken = ({ tokens }: Claim): string => tokens.at(-1) ?? ''

/**
 * Makes a claim. Returns false if the work is claimed or done, or if its kind waits because the workspace is suspended
 * or deleted. Of concurrent callers, one succeeds.
 */
export async function claimWork({ db }: Pick<Ctx, 'db'>, claim: Claim): Promise<boolean> {
  const claimed = await db
    .update(work)
    .set({ token: latestToken(claim), workerId: claim.workerId, claimedAt: timestampNow() })
    .where(
      and(
        isWorkOf(claim),
        eq(work.kind, claim.kind),
        isNull(work.token),
        kindsOfWork[claim.kind].passesSuspension ? undefined : not(isInStoppedWorkspace(work.workspaceId)),
      ),
    )
    .returning({ id: work.id })
  return claimed.length > 0
}

/** Locks the claim until the transaction ends. Returns false if it was lost: another job may have the work. */
export async function lockClaim({ db }: Pick<Ctx, 'db'>, claim: Claim): Promise<boolean> {
  const locked = await db.select({ id: work.id }).from(work).where(isOwned(claim)).for('update')
  return locked.length > 0
}

/** Ends work in the transaction that records its outcome. Returns false if the claim was lost. */
export async function finishClaim({ db }: Pick<Ctx, 'db'>, claim: Claim): Promise<boolean> {
  const finished = await db.delete(work).where(isOwned(claim)).returning({ id: work.id })
  return finished.length > 0
}

/** Releases the work. After `delayMs`, the poll publishes it again. Does nothing if the claim was lost. */
export async function delayClaim({ db }: Pick<Ctx, 'db'>, claim: Claim, delayMs: number): Promise<void> {
  // By the clock of PostgreSQL, as `isDue`.
  const dueAt = sql`now() + ${delayMs}::float8 * interval '1 millisecond'`
  await db
    .update(work)
    .set({ token: null, workerId: null, claimedAt: null, publishedAt: null, dueAt })
    .where(isOwned(claim))
}

/** Releases the work. Does nothing if the claim was lost. */
export async function releaseClaim({ db }: Pick<Ctx, 'db'>, claim: Claim, release: Release): Promise<void> {
  const free = { token: null, workerId: null, claimedAt: null }
  const publishedAt = hasPublisher(db) ? timestampNow() : null
  const [released] = await db
    .update(work)
    .set(release === 'requeue' ? { ...free, publishedAt } : free)
    .where(isOwned(claim))
    .returning({ requestId: work.requestId, traceparent: work.traceparent })
  if (release === 'retry' || !released) return
  const { workspaceId, kind, id } = claim
  publishAfterCommit(db, { workspaceId, kind, id, ...released })
}

/**
 * Gives up work whose claim had no response. The claim may still be committing. A statement that looks for its token
 * would not wait for that, as it does not see it yet, so the row is locked first.
 */
export function releaseUnacknowledged(ctx: Ctx, claim: Claim): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    await ctx.db.select({ id: work.id }).from(work).where(isWorkOf(claim)).for('update')
    await releaseClaim(ctx, claim, 'retry')
  })
}

/**
 * Lists the claims of all workers, or of one. Every transaction that ends a claim requires its token, so a claim of
 * this list that has ended meanwhile is safe to recover: nothing happens.
 */
export async function listClaims(db: Db, workerId?: string): Promise<Claim[]> {
  const rows = await db
    .select({ workspaceId: work.workspaceId, kind: work.kind, id: work.id, workerId: work.workerId, token: work.token })
    .from(work)
    .where(workerId === undefined ? isNotNull(work.workerId) : eq(work.workerId, workerId))
    .orderBy(work.id)
  return rows.flatMap(({ workspaceId, kind, id, workerId, token }) =>
    kind && workerId && token ? [{ workspaceId, kind, id, workerId, tokens: [token] }] : [],
  )
}

/**
 * For a statement that does more: makes the claim of work that has a row only while a job owns it, if `condition` is true.
 * That is a drain: its queue are the PENDING deliveries, which the poll finds (`webhooks/drain/find-backlogs.ts`).
 * It has a RETURNING: without, a cluster counts what a sub-select returns, so that every job would have the claim.
 */
export const insertClaim = (
  claim: Record<'workspaceId' | 'id' | 'kind' | 'token' | 'workerId' | 'now', SQLWrapper>,
  condition: SQL,
) => sql`
    insert into work as former (workspace_id, id, kind, token, worker_id, claimed_at)
    select ${claim.workspaceId}, ${claim.id}, ${claim.kind}, ${claim.token}, ${claim.workerId}, ${claim.now}
    where ${condition}
    on conflict (workspace_id, id) do update
    set token = excluded.token, worker_id = excluded.worker_id, claimed_at = excluded.claimed_at
    where former.token is null
    returning id`

/** For a statement that does more: makes the claims of a CTE `subject` (`id`, `token`) that can be made, as `claimWork`. */
export const claimMany = (kind: WorkKind, claim: Record<'workspaceId' | 'workerId' | 'now', SQLWrapper>): SQL => sql`
    update work w set token = subject.token, worker_id = ${claim.workerId}, claimed_at = ${claim.now} from subject
    where w.workspace_id = ${claim.workspaceId} and w.id = subject.id and w.kind = ${sql.raw(`'${kind}'`)}
      and w.token is null and not ${isInStoppedWorkspace(sql`w.workspace_id`)}
    returning w.id, w.token, w.request_id, w.traceparent`

/** For a statement that does more: the assignment that renews a claim, and the condition that it is not lost. */
export const renewClaim = (token: SQLWrapper): SQL => sql`token = ${token}::uuid`
export const hasClaim = (tokens: SQLWrapper): SQL => sql`token = any(${tokens}::uuid[])`

const isWorkOf = ({ workspaceId, id }: Pick<Claim, 'id'> & Pick<WorkScope, 'workspaceId'>) =>
  and(eq(work.workspaceId, workspaceId), eq(work.id, id))
const isOwned = (claim: Claim) => and(isWorkOf(claim), inArray(work.token, [...claim.tokens]))
