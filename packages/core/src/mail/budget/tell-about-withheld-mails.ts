/** What a workspace learns of confirmations that its budget withholds: an event for each list, and an email a day. */
import { and, asc, count, eq, exists, gt, inArray, isNull, min, ne, or, type SQL } from 'drizzle-orm'
import { members, subscriptions, users, visitorMails } from '../../db/schema/index.ts'
import { emit } from '../../events/emit.ts'
import type { ListId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { takeDailyNotice } from '../mail-quotas.ts'
import { enqueueMail } from '../mails.ts'
import { confirmationsWithheld } from './withheld-confirmations.schema.ts'
import { timestampNow, type Timestamp, timestampAt } from '../../kernel/validation.ts'

const hourMs = 60 * 60 * 1000

/** Runs in the transaction of a release, so that one at a time tells. */
export async function tellAboutWithheldMails(ctx: Ctx, now: Timestamp): Promise<void> {
  const lists = await listWithheld(ctx)
  if (lists.length === 0) return
  const told = await findToldLists(ctx, timestampAt(Date.parse(now) - hourMs))
  for (const { listId, count, since } of lists) {
    if (told.has(listId)) continue
    await markTold(ctx, listId, now)
    await emit(ctx, confirmationsWithheld, { listId, count, since })
  }
  await emailOwners(ctx)
}

export interface WithheldOfList {
  /** Null: grants of tracking, which belong to no list. */
  listId: ListId | null
  count: number
  /** When the visitor asked for the oldest of them. */
  since: Timestamp
}

/** Counts the confirmations that wait now, by list. */
export async function listWithheld(ctx: Ctx): Promise<WithheldOfList[]> {
  const { listId, createdAt } = visitorMails
  const rows = await ctx.db
    .select({ listId, count: count(), since: min(createdAt) })
    .from(visitorMails)
    .where(isWithheld(ctx))
    .groupBy(listId)
    .orderBy(listId)
  return rows.map(({ since, ...row }) => ({ ...row, since: since ?? timestampNow() }))
}

/** Counts the confirmations of a list that wait now. */
export function countWithheld(ctx: Ctx, listId: ListId): Promise<number> {
  return ctx.db.$count(visitorMails, and(isWithheld(ctx), eq(visitorMails.listId, listId)))
}

/** A confirmation whose subscription is no longer PENDING waits, but is not sent. */
const isWithheld = (ctx: Ctx): SQL | undefined => {
  const { workspaceId, listId, contactId } = visitorMails
  const isPending = ctx.db
    .select({ listId: subscriptions.listId })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.workspaceId, workspaceId),
        eq(subscriptions.listId, listId),
        eq(subscriptions.contactId, contactId),
        eq(subscriptions.status, 'PENDING'),
      ),
    )
  return and(
    eq(workspaceId, ctx.workspaceId),
    eq(visitorMails.status, 'WITHHELD'),
    ne(visitorMails.kind, 'PERSONAL_DATA'),
    or(isNull(listId), exists(isPending)),
  )
}

async function findToldLists(ctx: Ctx, after: Timestamp): Promise<Set<ListId | null>> {
  const rows = await ctx.db
    .select({ listId: visitorMails.listId })
    .from(visitorMails)
    .where(and(eq(visitorMails.workspaceId, ctx.workspaceId), gt(visitorMails.toldAt, after)))
  return new Set(rows.map(({ listId }) => listId))
}

/** Records it at one mail: a flood would make it thousands. */
async function markTold(ctx: Ctx, listId: ListId | null, now: Timestamp): Promise<void> {
  const oldest = ctx.db
    .select({ id: visitorMails.id })
    .from(visitorMails)
    .where(and(isWithheld(ctx), listId ? eq(visitorMails.listId, listId) : isNull(visitorMails.listId)))
    .orderBy(asc(visitorMails.createdAt), asc(visitorMails.id))
    .limit(1)
  await ctx.db
    .update(visitorMails)
    .set({ toldAt: now })
    .where(and(eq(visitorMails.workspaceId, ctx.workspaceId), inArray(visitorMails.id, oldest)))
}

async function emailOwners(ctx: Ctx): Promise<void> {
  const kind = 'CONFIRMATIONS_WITHHELD'
  const owners = await ctx.db
    .select({ email: users.email })
    .from(members)
    .innerJoin(users, eq(users.id, members.userId))
    .where(and(eq(members.workspaceId, ctx.workspaceId), eq(members.role, 'OWNER')))
  const [first] = owners
  if (!first || !(await takeDailyNotice(ctx, kind, first.email))) return
  for (const { email } of owners) await enqueueMail(ctx, { kind, to: email, data: {} })
}
