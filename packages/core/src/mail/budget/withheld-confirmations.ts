/** Confirmations that the budget of a workspace withholds cause an event for each list, and an email a day. */
import {
  and,
  asc,
  count,
  eq,
  exists,
  gt,
  gte,
  inArray,
  isNull,
  max,
  min,
  ne,
  notExists,
  or,
  type SQL,
} from 'drizzle-orm'
import { mails, subscriptions, suppressions, visitorMails } from '../../db/schema/index.ts'
import { emit } from '../../events/emit.ts'
import type { ListId } from '../../kernel/ids.ts'
import { byId } from '../../request/by-id.ts'
import type { Ctx } from '../../request/context.ts'
import { readEmailsOf } from '../email-admins.ts'
import { takeDailyNotice } from '../mail-quotas.ts'
import { enqueueMail } from '../mails.ts'
import { getDayBefore } from './budgets.ts'
import { confirmationsWithheld } from './withheld-confirmations.schema.ts'
import { timestampNow, type Timestamp, timestampAt } from '../../kernel/values/timestamps.ts'

const hourMs = 60 * 60 * 1000

export type WithheldMail = Pick<typeof visitorMails.$inferSelect, 'kind' | 'listId'>

/**
 * Runs in the transaction of a release, so that one at a time emits. Counts only lists that are due, as a flood makes
 * that slow: those of which a mail is withheld now, or that were told for the last time over an hour ago.
 */
export async function emitWithheldConfirmations(
  ctx: Ctx,
  { withheld, now }: { withheld: readonly WithheldMail[]; now: Timestamp },
): Promise<void> {
  const told = await findToldLists(ctx, getDayBefore(now))
  const ofLists = withheld.flatMap(({ kind, listId }) => (kind === 'PERSONAL_DATA' ? [] : [listId]))
  const hourBefore = timestampAt(Date.parse(now) - hourMs)
  const due = [...new Set([...ofLists, ...told.keys()])].filter((listId) => (told.get(listId) ?? '') <= hourBefore)
  const lists = due.length > 0 ? await listWithheld(ctx, isOfLists(due)) : []
  if (lists.length === 0) return
  for (const { listId, count, since } of lists) {
    if (!(await markTold(ctx, listId, now))) continue
    await emit(ctx, confirmationsWithheld, { listId, count, since })
  }
  await emailOwners(ctx)
}

function isOfLists(ids: readonly (ListId | null)[]): SQL | undefined {
  const listIds = ids.filter((id) => id !== null)
  return or(inArray(visitorMails.listId, listIds), ids.includes(null) ? isNull(visitorMails.listId) : undefined)
}

export interface WithheldOfList {
  /** Null: grants of tracking, which belong to no list. */
  listId: ListId | null
  count: number
  /** When the visitor asked for the oldest of them. */
  since: Timestamp
}

/** Counts the confirmations that wait now, by list. */
export async function listWithheld(ctx: Ctx, condition?: SQL): Promise<WithheldOfList[]> {
  const { listId, createdAt } = visitorMails
  const rows = await ctx.db
    .select({ listId, count: count(), since: min(createdAt) })
    .from(visitorMails)
    .where(and(isWithheld(ctx), condition))
    .groupBy(listId)
    .orderBy(listId)
  return rows.map(({ since, ...row }) => ({ ...row, since: since ?? timestampNow() }))
}

/** Counts the confirmations of a list that wait now. */
export function countWithheld(ctx: Ctx, listId: ListId): Promise<number> {
  return ctx.db.$count(visitorMails, and(isWithheld(ctx), eq(visitorMails.listId, listId)))
}

/**
 * A condition that joins a confirmation to its subscription, if its link would do what was asked: the contact is not
 * confirmed, and no suppression refuses the link. It is what `mayBeMailed` decides, as far as it shows
 * without the address. It compares nothing of a subscription with its mail: PostgreSQL reads the few that wait first.
 */
export const isAskedOf = (ctx: Ctx): SQL | undefined =>
  and(
    eq(mails.workspaceId, visitorMails.workspaceId),
    eq(mails.id, visitorMails.id),
    eq(subscriptions.workspaceId, visitorMails.workspaceId),
    eq(subscriptions.listId, visitorMails.listId),
    eq(subscriptions.contactId, visitorMails.contactId),
    inArray(subscriptions.status, ['PENDING', 'UNSUBSCRIBED', 'COMPLAINED']),
    notExists(selectRefusals(ctx)),
  )

/** What refuses the link of a mail, as `isRefused` decides. */
const selectRefusals = ({ db }: Ctx) =>
  db
    .select({ id: suppressions.id })
    .from(suppressions)
    .where(
      and(
        eq(suppressions.workspaceId, visitorMails.workspaceId),
        eq(suppressions.contactId, visitorMails.contactId),
        or(isNull(suppressions.listId), eq(suppressions.listId, visitorMails.listId)),
        or(inArray(suppressions.reason, ['BOUNCED', 'MANUAL']), gte(suppressions.saidAt, mails.createdAt)),
      ),
    )

/** A confirmation whose link would do nothing any more waits, but is not sent. */
const isWithheld = (ctx: Ctx): SQL | undefined => {
  const asked = ctx.db.select({ id: mails.id }).from(mails).innerJoin(subscriptions, isAskedOf(ctx))
  return and(isWithheldMail(ctx), or(isNull(visitorMails.listId), exists(asked)))
}

const isWithheldMail = ({ workspaceId }: Ctx): SQL | undefined =>
  and(
    eq(visitorMails.workspaceId, workspaceId),
    eq(visitorMails.status, 'WITHHELD'),
    ne(visitorMails.kind, 'PERSONAL_DATA'),
  )

/** When a list was told for the last time. */
async function findToldLists(ctx: Ctx, after: Timestamp): Promise<Map<ListId | null, Timestamp | null>> {
  const { listId, toldAt } = visitorMails
  const rows = await ctx.db
    .select({ listId, toldAt: max(toldAt) })
    .from(visitorMails)
    .where(and(eq(visitorMails.workspaceId, ctx.workspaceId), gt(toldAt, after)))
    .groupBy(listId)
  return new Map(rows.map(({ listId, toldAt }) => [listId, toldAt]))
}

/**
 * Records it at one mail, as a flood would make it thousands, whatever its subscription is by now: a cluster locks no rows
 * by a condition that has a sub-select in an OR. Returns false if a request or the deletion of the list has locked them all
 * at this moment.
 */
async function markTold(ctx: Ctx, listId: ListId | null, now: Timestamp): Promise<boolean> {
  const [oldest] = await ctx.db
    .select({ id: visitorMails.id })
    .from(visitorMails)
    .where(and(isWithheldMail(ctx), listId ? eq(visitorMails.listId, listId) : isNull(visitorMails.listId)))
    .orderBy(asc(visitorMails.createdAt), asc(visitorMails.id))
    .limit(1)
    .for('update', { skipLocked: true })
  if (!oldest) return false
  await ctx.db
    .update(visitorMails)
    .set({ toldAt: now })
    .where(byId(visitorMails, ctx, oldest.id))
  return true
}

async function emailOwners(ctx: Ctx): Promise<void> {
  const kind = 'CONFIRMATIONS_WITHHELD'
  const owners = await readEmailsOf(ctx, ['OWNER'])
  const [first] = owners
  if (!first || !(await takeDailyNotice(ctx, kind, first))) return
  for (const to of owners) await enqueueMail(ctx, { kind, to, data: {} })
}
