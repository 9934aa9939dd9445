import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm'
import { type ContactId, type ListId, uuidOf } from '../kernel/ids.ts'
import { recordSubscriptionActivity } from './subscribed-status.ts'
import type { Ctx } from '../request/context.ts'
import type { EventDefinition } from '../events/event-definition.ts'
import { emit } from '../events/emit.ts'
import { toTimestamp, toTimestampOrNull } from '../kernel/validation.ts'
import { subscriptions } from '../db/schema/index.ts'
import type { Subscription } from './subscriptions.schema.ts'

const { workspaceId: _, consent: __, replacedStatus: ___, ...columns } = getTableColumns(subscriptions)
export const subscriptionColumns = columns
export type SubscriptionRow = Pick<typeof subscriptions.$inferSelect, keyof typeof columns>

export interface SubscriptionKey {
  listId: ListId
  contactId: ContactId
}

/** The condition for one subscription, like `byId`. */
export function bySubscription(ctx: Ctx, { listId, contactId }: SubscriptionKey): SQL | undefined {
  return and(
    eq(subscriptions.workspaceId, ctx.workspaceId),
    eq(subscriptions.listId, listId),
    eq(subscriptions.contactId, contactId),
  )
}

export async function findSubscription(ctx: Ctx, key: SubscriptionKey): Promise<SubscriptionRow | undefined> {
  const [row] = await ctx.db.select(subscriptionColumns).from(subscriptions).where(bySubscription(ctx, key))
  return row
}

/** Updates the contact of a changed subscription and emits the events, in the transaction of the change. */
export async function recordSubscriptionChange(
  ctx: Ctx,
  row: SubscriptionRow,
  events: EventDefinition<Subscription>[],
): Promise<void> {
  await recordSubscriptionActivity(ctx, [row.contactId])
  for (const definition of events) await emit(ctx, definition, toSubscription(row))
}

/** Reads the subscriptions of contacts to a list, in the order of the contacts. */
export async function readSubscriptionsToList(
  ctx: Ctx,
  listId: ListId,
  contactIds: readonly ContactId[],
): Promise<Subscription[]> {
  const rows = await ctx.db
    .select(subscriptionColumns)
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        eq(subscriptions.listId, listId),
        sql`${subscriptions.contactId} = any(${sql.param(contactIds.map(uuidOf))}::uuid[])`,
      ),
    )
    .orderBy(subscriptions.contactId)
  return rows.map(toSubscription)
}

export function toSubscription(row: SubscriptionRow): Subscription {
  return {
    contactId: row.contactId,
    listId: row.listId,
    status: row.status,
    source: row.source,
    confirmedAt: toTimestampOrNull(row.confirmedAt),
    unsubscribedAt: toTimestampOrNull(row.unsubscribedAt),
    createdAt: toTimestamp(row.createdAt),
  }
}
