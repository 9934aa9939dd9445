import { and, eq, sql } from 'drizzle-orm'
import { subscriptions } from '../db/schema/index.ts'
import type { ListId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { requireList } from './lists.ts'
import type { SubscriberCounts } from './lists.schema.ts'

/** Counts the subscriptions of a list by status, exactly. */
export async function countSubscribers(ctx: Ctx, listId: ListId): Promise<SubscriberCounts> {
  await requireList(ctx, listId)
  const rows = await ctx.db
    .select({ status: subscriptions.status, count: sql<number>`count(*)::int` })
    .from(subscriptions)
    .where(and(eq(subscriptions.workspaceId, ctx.workspaceId), eq(subscriptions.listId, listId)))
    .groupBy(subscriptions.status)
  const counts: SubscriberCounts = { PENDING: 0, CONFIRMED: 0, UNSUBSCRIBED: 0, BOUNCED: 0, COMPLAINED: 0 }
  for (const { status, count } of rows) counts[status] = count
  return counts
}
