import { and, eq, inArray, isNotNull, isNull } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { type AddressedContact, lockConsent } from '../consent/consent-records.ts'
import { deriveStatuses } from '../consent/derive-statuses.ts'
import { restoreLostRows } from '../consent/lost-rows.ts'
import { refreshSubscribedStatus } from '../consent/subscribed-status.ts'
import { emit } from '../events/emit.ts'
import { giveUpMailsOfList } from '../mail/budget/visitor-mails.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { conflict, notFound } from '../kernel/errors.ts'
import { idOf, type ListId, uuidOf } from '../kernel/ids.ts'
import { enqueue, finishWork } from '../work/enqueue.ts'
import { campaigns, forms, lists, subscriptions, suppressions } from '../db/schema/index.ts'
import { lockContacts } from '../contacts/lock-contact.ts'
import { listDeleted } from './list-events.ts'
import { listColumns, toList } from './lists.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/**
 * Deletes a list and emits `list.deleted`. It is unavailable immediately. In the background, without events of it, the
 * worker gives up the confirmations that wait and removes the subscriptions and suppressions. Throws `in_use` while a
 * campaign to it is SENDING or PAUSED. Campaigns, forms and events that refer to it remain.
 */
export function deleteList(ctx: Ctx, id: ListId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    // The update waits for transactions that have locked the list, so a campaign that they start is found below, and no
    // campaign can start later.
    const [row] = await ctx.db
      .update(lists)
      .set({ deletedAt: timestampNow() })
      .where(and(byId(lists, ctx, id), isNull(lists.deletedAt)))
      .returning(listColumns)
    if (!row) throw notFound('List')
    const isActive = and(eq(campaigns.listId, id), inArray(campaigns.status, ['SENDING', 'PAUSED']))
    const [campaign] = await ctx.db
      .select({ id: campaigns.id })
      .from(campaigns)
      .where(and(eq(campaigns.workspaceId, ctx.workspaceId), isActive))
      .limit(1)
    if (campaign) throw conflict('in_use', 'A campaign to this list is SENDING or PAUSED')
    await enqueue(ctx, 'CLEAR_LIST', id)
    await emit(ctx, listDeleted, toList(row))
    await audit(ctx, 'list.deleted', { subjectId: id })
  })
}

const batchSize = 500

/**
 * Removes the next batch of data of a deleted list, and returns whether there is more. Each batch is one transaction
 * and safe to repeat, so an interrupted worker continues with the next batch.
 */
export function clearDeletedList(ctx: Ctx, uuid: string): Promise<boolean> {
  const id = idOf('lst', uuid)
  return inTransaction(ctx, async (ctx) => {
    if (await giveUpMailsOfList(ctx, id, batchSize)) return true
    const subscribers = await findSubscribers(ctx, id)
    if (subscribers.length > 0) {
      await removeSubscriptions(ctx, id, subscribers)
      return true
    }
    if (await removeSuppressions(ctx, id)) return true
    // The lock blocks new subscriptions, so the statuses of all contacts are final.
    const [list] = await ctx.db.select().from(lists).where(isDeleted(ctx, id)).for('update')
    if (!list) return false
    if ((await findSubscribers(ctx, id)).length > 0) return true
    await clearReferences(ctx, id)
    await ctx.db.delete(lists).where(isDeleted(ctx, id))
    await finishWork(ctx, [uuidOf(id)])
    return false
  })
}

/** See `distribute.ts` about foreign keys. */
async function clearReferences(ctx: Ctx, listId: ListId): Promise<void> {
  for (const table of [campaigns, forms]) {
    const isOfList = and(eq(table.workspaceId, ctx.workspaceId), eq(table.listId, listId))
    await ctx.db.update(table).set({ listId: null }).where(isOfList)
  }
}

type Subscriber = Pick<typeof subscriptions.$inferSelect, 'contactId' | 'status'>

function findSubscribers(ctx: Ctx, listId: ListId): Promise<Subscriber[]> {
  return ctx.db
    .select({ contactId: subscriptions.contactId, status: subscriptions.status })
    .from(subscriptions)
    .where(and(eq(subscriptions.workspaceId, ctx.workspaceId), eq(subscriptions.listId, listId)))
    .limit(batchSize)
}

async function removeSubscriptions(ctx: Ctx, listId: ListId, subscribers: readonly Subscriber[]) {
  const contactIds = subscribers.map(({ contactId }) => contactId)
  const contacts = await lockContacts(ctx, contactIds)
  const isForAll = ({ status }: Subscriber) => status === 'BOUNCED' || status === 'COMPLAINED'
  const ended = new Set(subscribers.filter(isForAll).map(({ contactId }) => contactId))
  if (ended.size > 0)
    await storeLostRows(
      ctx,
      listId,
      contacts.filter(({ id }) => ended.has(id)),
    )
  await ctx.db
    .delete(subscriptions)
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        eq(subscriptions.listId, listId),
        inArray(subscriptions.contactId, [...contactIds]),
      ),
    )
  await refreshSubscribedStatus(ctx, contactIds)
}

/**
 * A bounce and a complaint are for all lists: without their row, these subscriptions alone may say so. The row ends the open
 * subscriptions to other lists.
 */
async function storeLostRows(ctx: Ctx, deleted: ListId, contacts: readonly AddressedContact[]): Promise<void> {
  const records = await lockConsent(ctx, { contacts, mode: 'exclusive' })
  restoreLostRows(ctx, records)
  const others = [...records.subscriptions].filter(([, { listId }]) => listId !== deleted)
  await deriveStatuses(ctx, { ...records, subscriptions: new Map(others) }, { isActivity: false })
}

/** What was said about the list alone: in the order in which `readRows` reads, and others write. */
async function removeSuppressions(ctx: Ctx, listId: ListId): Promise<boolean> {
  const { workspaceId, id, createdAt } = suppressions
  const rows = await ctx.db
    .select({ id })
    .from(suppressions)
    .where(and(eq(workspaceId, ctx.workspaceId), eq(suppressions.listId, listId)))
    .orderBy(createdAt, id)
    .limit(batchSize)
    .for('update')
  const ids = rows.map((row) => row.id)
  if (ids.length > 0) await ctx.db.delete(suppressions).where(and(eq(workspaceId, ctx.workspaceId), inArray(id, ids)))
  return ids.length > 0
}

function isDeleted(ctx: Ctx, id: ListId) {
  return and(byId(lists, ctx, id), isNotNull(lists.deletedAt))
}
