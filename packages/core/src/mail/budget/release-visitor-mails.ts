/**
 * Releases the mails that visitors asked for, oldest first, as the budget of their workspace allows. A mail is counted in
 * the transaction that enqueues its work: if a process dies between the count and the mail, recovery finds the work, or
 * there is neither count nor work. An attempt that may have sent its mail is counted again before the next one
 * (`returnToBudget`). So the budget holds exactly, over any number of processes.
 */
import { and, asc, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { mails, requestedMailKinds, visitorMails, workspaces } from '../../db/schema/index.ts'
import { lockName } from '../../db/statements/advisory-locks.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { uuidOf, type WorkspaceId } from '../../kernel/ids.ts'
import { readQuotas } from '../../quotas/require-quota.ts'
import { isOneOf } from '../../request/by-id.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { enqueueAll } from '../../work/enqueue.ts'
import { publishRelease } from '../../work/publisher.ts'
import { getDayBefore, type MailBudget, mailBudgets, readBudget } from './budgets.ts'
import { emitWithheldConfirmations, type WithheldMail } from './withheld-confirmations.ts'
import { endVisitorMails, isWaiting } from './visitor-mails.ts'
import { type Timestamp, timestampNow } from '../../kernel/values/timestamps.ts'

/** As many as are published at once: further ones follow in the next transaction. */
const batchSize = 100
/** How many are given up in a transaction. */
const maxGivenUp = 1_000

export interface ReleasedMails {
  released: number
  /** Mails for which the budget was used up for the first time. */
  withheld: number
  givenUp: number
}

/** Releases what the budgets allow, and withholds the rest. Does nothing while the workspace is suspended. */
export function releaseVisitorMails(ctx: Ctx, { now = timestampNow() } = {}): Promise<ReleasedMails> {
  return inTransaction(ctx, async (ctx) => {
    // One release at a time counts. No request takes this lock.
    await lockName(ctx.db, `visitor mails ${uuidOf(ctx.workspaceId)}`)
    const total: ReleasedMails = { released: 0, withheld: 0, givenUp: 0 }
    if (!(await isActive(ctx))) return total
    const quotas = await readQuotas(ctx)
    total.givenUp = await giveUpOldMails(ctx, now)
    if (total.givenUp === maxGivenUp) {
      // The oldest may have waited for too long too: they are given up first.
      publishRelease(ctx.db, ctx.workspaceId)
      return total
    }
    let withheld: readonly WithheldMail[] = []
    for (const budget of mailBudgets) {
      const left = await readBudget(ctx, budget, { limit: quotas[budget.quota], now })
      const released = await releaseOldest(ctx, budget, { count: Math.min(left, batchSize), now })
      total.released += released
      if (released === batchSize) publishRelease(ctx.db, ctx.workspaceId)
      else if (released === left) withheld = [...withheld, ...(await withhold(ctx, budget))]
    }
    total.withheld = withheld.length
    await emitWithheldConfirmations(ctx, { withheld, now })
    return total
  })
}

async function isActive(ctx: Ctx): Promise<boolean> {
  const { id, suspendedAt, deletedAt } = workspaces
  return (await ctx.db.$count(workspaces, and(eq(id, ctx.workspaceId), isNull(suspendedAt), isNull(deletedAt)))) > 0
}

/** Looks at the very oldest first: a condition on the time could lead to an index of all workspaces. */
async function giveUpOldMails(ctx: Ctx, now: Timestamp): Promise<number> {
  const isOld = ({ createdAt }: { createdAt: Timestamp }) => createdAt < getDayBefore(now)
  if (!(await selectOldest(ctx, requestedMailKinds, 1)).some(isOld)) return 0
  const old = (await selectOldest(ctx, requestedMailKinds, maxGivenUp)).filter(isOld)
  await endVisitorMails(ctx, old, { status: 'GIVEN_UP' })
  return old.length
}

async function releaseOldest(
  ctx: Ctx,
  budget: MailBudget,
  { count, now }: { count: number; now: Timestamp },
): Promise<number> {
  if (count === 0) return 0
  const oldest = await selectOldest(ctx, budget.kinds, count)
  if (oldest.length === 0) return 0
  const uuids = oldest.map(({ id }) => uuidOf(id))
  // A mail that is not PENDING was sent by an attempt that was believed lost.
  const pending = await ctx.db
    .select({ id: mails.id })
    .from(mails)
    .where(and(isOneOf(mails, ctx, uuids), eq(mails.status, 'PENDING')))
    .orderBy(mails.id)
    .for('update')
  const pendingIds = pending.map(({ id }) => id)
  await ctx.db
    .update(visitorMails)
    .set({ status: 'RELEASED' })
    .where(isOneOf(visitorMails, ctx, uuids))
  await ctx.db
    .update(visitorMails)
    .set({ releases: sql`${visitorMails.releases} + 1`, releasedAt: now })
    .where(isOneOf(visitorMails, ctx, pendingIds.map(uuidOf)))
  await enqueueAll(ctx, 'MAIL', pendingIds)
  return oldest.length
}

/** An index has the order of each kind. */
async function selectOldest(ctx: Ctx, kinds: MailBudget['kinds'], count: number) {
  const oldest = []
  for (const kind of kinds) oldest.push(...(await selectWaiting(ctx, eq(visitorMails.kind, kind)).limit(count)))
  return oldest.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt)).slice(0, count)
}

/** Locks the oldest mails that wait. Skips those that a request replaces, or an erasure deletes, at this moment. */
function selectWaiting(ctx: Ctx, condition: SQL | undefined) {
  return ctx.db
    .select({ id: visitorMails.id, createdAt: visitorMails.createdAt })
    .from(visitorMails)
    .where(and(eq(visitorMails.workspaceId, ctx.workspaceId), isWaiting, condition))
    .orderBy(asc(visitorMails.createdAt), asc(visitorMails.id))
    .for('update', { skipLocked: true })
    .$dynamic()
}

async function withhold(ctx: Ctx, { kinds }: MailBudget): Promise<WithheldMail[]> {
  const isNew = and(inArray(visitorMails.kind, [...kinds]), eq(visitorMails.status, 'WAITING'))
  const uuids = (await selectWaiting(ctx, isNew)).map(({ id }) => uuidOf(id))
  if (uuids.length === 0) return []
  return await ctx.db
    .update(visitorMails)
    .set({ status: 'WITHHELD' })
    .where(isOneOf(visitorMails, ctx, uuids))
    .returning({ kind: visitorMails.kind, listId: visitorMails.listId })
}

/** Finds the workspaces with mails that wait, or only those with mails that no release has looked at. */
export async function findWaitingWorkspaces(db: Db, { onlyNew = false } = {}): Promise<WorkspaceId[]> {
  return (await (onlyNew ? findNew(db) : findWaiting(db))).map(({ workspaceId }) => workspaceId)
}

const findWorkspaces = (name: string, isFound: SQL) =>
  namedStatement(name, {
    columns: { workspaceId: visitorMails.workspaceId },
    sql: () => sql`
      select distinct v.workspace_id from visitor_mails v
      join workspaces w on w.id = v.workspace_id and w.suspended_at is null and w.deleted_at is null
      where ${isFound}`,
  })
/** For each second: an index has these alone, however many are withheld. */
const findNew = findWorkspaces('find workspaces with new mails', sql`v.status = 'WAITING'`)
const findWaiting = findWorkspaces('find workspaces with waiting mails', sql`v.status in ('WAITING', 'WITHHELD')`)
