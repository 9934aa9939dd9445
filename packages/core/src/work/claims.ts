/**
 * Claims: why a mail, a request or a row is never handed out twice.
 *
 * A job claims its work by writing a fresh token into the row of `work`, and only if there is none. From then on every
 * statement that hands something out (the claim, the claim of a group of recipients, the take of a chunk) requires the
 * token before it, and writes a fresh one if it hands out something to send. Tokens are never used again, so a statement
 * takes effect at most once, whenever it arrives:
 *
 * | between which two statements            | what may happen               | what then                                |
 * |-----------------------------------------|-------------------------------|------------------------------------------|
 * | job added, claim                        | the job is lost, or added     | a relay adds it again; a second job finds |
 * |                                         | twice, or stalled and redone  | a token and does nothing                 |
 * | claim sent, claim answered              | the answer is lost            | the job knows its token: it releases     |
 * | claim answered, act                     | the process ends              | recovery, as after the act               |
 * | act, outcome recorded                   | the process ends, or counts   | recovery: what may be out and must not   |
 * |                                         | as crashed while it goes on   | be repeated becomes INTERRUPTED          |
 * | recovery, late outcome                  | the worker was only frozen    | mails and recipients keep the token of   |
 * |                                         |                               | their last attempt: the outcome counts   |
 * |                                         |                               | unless another attempt has begun         |
 * | outcome sent, outcome answered          | the answer is lost            | it is sent again: the same row results   |
 * | release sent, arrives after a new claim | a frozen connection           | its token is gone: it changes nothing    |
 *
 * The order of locks is: the subject, then its row in `work`, then what the subject owns. Recovery reads all claims
 * first, and then which workers are registered and which claims the process still has; a worker registers, and a
 * process enters its claim, before the claim is sent.
 */
import { randomUUID } from 'node:crypto'
import { and, eq, inArray, isNotNull, isNull, not, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { work } from '../db/schema/index.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { isInSuspendedWorkspace } from '../request/suspended-workspace.ts'
import type { WorkspaceWork } from './enqueue.ts'
import { kindsOfWork, type WorkKind } from './kinds.ts'
import { wakeForWork } from './wake-relays.ts'

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

/** How a claim ends whose outcome is unknown. */
export interface Recovery {
  /** The error of what becomes INTERRUPTED. */
  error: string
  when: 'now' | 'retry'
}

/** The token that the next statement writes. */
export const latestToken = ({ tokens }: Claim): string => tokens.at(-1) ?? ''

/**
 * Makes a claim. Returns false if the work is claimed or done, or if its kind waits while the workspace is suspended.
 * Of concurrent callers, one succeeds. Call it in a transaction that has locked the subject.
 */
export async function claimWork({ db }: Pick<Ctx, 'db'>, claim: Claim): Promise<boolean> {
  const claimed = await db
    .update(work)
    .set({ token: latestToken(claim), workerId: claim.workerId, claimedAt: new Date() })
    .where(
      and(
        isWorkOf(claim),
        eq(work.kind, claim.kind),
        isNull(work.token),
        kindsOfWork[claim.kind].passesSuspension ? undefined : not(isInSuspendedWorkspace(work.workspaceId)),
      ),
    )
    .returning({ id: work.id })
  return claimed.length > 0
}

/** Locks the claim until the transaction ends. Returns false if it was lost: another job may have the work. */
export async function lockClaim({ db }: Pick<Ctx, 'db'>, claim: Claim): Promise<boolean> {
  const held = await db.select({ id: work.id }).from(work).where(isHeld(claim)).for('update')
  return held.length > 0
}

/** Ends work in the transaction that records its outcome. Returns false if the claim was lost. */
export async function finishClaim({ db }: Pick<Ctx, 'db'>, claim: Claim): Promise<boolean> {
  const finished = await db.delete(work).where(isHeld(claim)).returning({ id: work.id })
  return finished.length > 0
}

/**
 * Gives the work up. `now`: relays publish it again at once. `retry`: the queue runs the job again after a pause, as it
 * failed, or else a relay does after some seconds. Does nothing if the claim was lost.
 */
export async function releaseClaim({ db }: Pick<Ctx, 'db'>, claim: Claim, when: 'now' | 'retry'): Promise<void> {
  const free = { token: null, workerId: null, claimedAt: null }
  await db
    .update(work)
    .set(when === 'now' ? { ...free, publishedAt: null } : free)
    .where(isHeld(claim))
  if (when === 'now') wakeForWork(db)
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
  return rows.flatMap(({ workspaceId, kind, id, workerId, token }) =>
    kind && workerId && token ? [{ workspaceId, kind, id, workerId, tokens: [token] }] : [],
  )
}

/** For a statement that hands out a part of the work: the assignment and the condition that renew the claim. */
export function renewClaim(next: SQLWrapper, former: SQLWrapper): { assignment: SQL; condition: SQL } {
  return { assignment: sql`token = ${next}::uuid`, condition: sql`token = any(${former}::uuid[])` }
}

const isWorkOf = ({ workspaceId, id }: Pick<Claim, 'id'> & Pick<WorkspaceWork, 'workspaceId'>) =>
  and(eq(work.workspaceId, workspaceId), eq(work.id, id))
const isHeld = (claim: Claim) => and(isWorkOf(claim), inArray(work.token, [...claim.tokens]))
