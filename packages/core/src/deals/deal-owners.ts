/** What happens to the deals of members who leave. */
import { and, eq, isNotNull } from 'drizzle-orm'
import { timeAtLeast } from '../db/schema/columns.ts'
import { deals } from '../db/schema/index.ts'
import { changeWithEvents } from '../events/change-with-events.ts'
import { updatesFrom } from '../events/changes.ts'
import { emitUpdates } from '../events/emit.ts'
import type { UserId } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/validation.ts'
import { isAmongFirst } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { dealUpdated } from './deal-events.ts'
import { toDeal } from './deal-record.ts'

/** A subquery for the contacts of a member's deals. */
export function selectContactsOfDeals(ctx: Ctx, userId: UserId) {
  const isOwned = and(eq(deals.workspaceId, ctx.workspaceId), eq(deals.ownerId, userId))
  return ctx.db.select({ id: deals.contactId }).from(deals).where(isOwned)
}

/**
 * Clears the owner of a member's deals, and emits `deal.updated` for each. Call it in the transaction that deletes the
 * member, with the contacts and the member locked. This is not an activity of the contacts.
 */
export async function clearDealOwners(ctx: Ctx, userId: UserId): Promise<void> {
  const change = { ownerId: null, updatedAt: timeAtLeast(deals.updatedAt, timestampNow()) }
  await changeWithEvents({
    changeBatch: (limit) =>
      ctx.db
        .update(deals)
        .set(change)
        .where(isAmongFirst(deals, ctx, { where: eq(deals.ownerId, userId), limit }))
        .returning(),
    emit: async (rows) => await emitUpdates(ctx, dealUpdated, updatesFrom(rows.map(toDeal), { ownerId: userId })),
  })
}

/**
 * Clears the owners of all deals, without events. Call it in the transaction that deletes all members of the workspace:
 * see `distribute.ts` about foreign keys.
 */
export async function clearAllDealOwners(ctx: Ctx): Promise<void> {
  await ctx.db
    .update(deals)
    .set({ ownerId: null })
    .where(and(eq(deals.workspaceId, ctx.workspaceId), isNotNull(deals.ownerId)))
}
