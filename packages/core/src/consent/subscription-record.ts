import { and, eq, getTableColumns, type SQL } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { subscriptions } from '../db/schema/index.ts'
import type { SubscriptionKey } from './consent-records.ts'
import type { Subscription } from './subscriptions.schema.ts'

const { workspaceId: _, consent: __, ownStatus: ___, ownStatusAt: ____, ...columns } = getTableColumns(subscriptions)
export const subscriptionColumns = columns
export type SubscriptionRow = Pick<typeof subscriptions.$inferSelect, keyof typeof columns>

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

export function toSubscription(row: SubscriptionRow): Subscription {
  return {
    contactId: row.contactId,
    listId: row.listId,
    status: row.status,
    source: row.source,
    confirmedAt: row.confirmedAt,
    unsubscribedAt: row.unsubscribedAt,
    createdAt: row.createdAt,
  }
}
