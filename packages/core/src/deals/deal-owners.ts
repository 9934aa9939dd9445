/** What happens to the deals of members who leave. */
import { and, eq } from 'drizzle-orm'
import { deals } from '../db/schema/index.ts'
import type { UserId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { clearMember } from '../workspaces/named-members.ts'
import { dealUpdated } from './deal-events.ts'
import { toDeal } from './deal-record.ts'

/** A subquery for the contacts of a member's deals. */
export function selectContactsOfDeals(ctx: Ctx, userId: UserId) {
  const isOwned = and(eq(deals.workspaceId, ctx.workspaceId), eq(deals.ownerId, userId))
  return ctx.db.select({ id: deals.contactId }).from(deals).where(isOwned)
}

/** Clears the owner of a member's deals: see `clearMember`. */
export const clearDealOwners = clearMember({ table: deals, field: 'ownerId', event: dealUpdated, toData: toDeal })
