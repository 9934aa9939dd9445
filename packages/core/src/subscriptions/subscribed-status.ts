/** Derives the `emailSubscribedStatus` of contacts from their subscriptions. */
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { timeAtLeast } from '../db/schema/columns.ts'
import { activityAt, contacts } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'

/** The first of these statuses that any subscription of the contact has. */
const subscribedStatus = sql`coalesce((
  select case
    when bool_or(s.status = 'COMPLAINED') then 'COMPLAINED'
    when bool_or(s.status = 'BOUNCED') then 'BOUNCED'
    when bool_or(s.status = 'CONFIRMED') then 'SUBSCRIBED'
    when bool_or(s.status = 'PENDING') then 'PENDING'
    when bool_or(s.status = 'UNSUBSCRIBED') then 'UNSUBSCRIBED'
  end
  from subscriptions s
  where s.workspace_id = ${contacts.workspaceId} and s.contact_id = ${contacts.id}), 'NONE')`

/**
 * Updates `emailSubscribedStatus` and `lastActivityAt`. Call it in the transaction that changed a subscription, after
 * `lockContact`.
 */
export async function recordSubscriptionActivity(ctx: Ctx, contactIds: readonly ContactId[]): Promise<void> {
  await ctx.db
    .update(contacts)
    .set({ emailSubscribedStatus: subscribedStatus, ...activityAt(new Date()) })
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), inArray(contacts.id, [...contactIds])))
}

/** Updates `emailSubscribedStatus` only. The deletion of a list is not an activity of its subscribers. */
export async function refreshSubscribedStatus(ctx: Ctx, contactIds: readonly ContactId[]): Promise<void> {
  await ctx.db
    .update(contacts)
    .set({ emailSubscribedStatus: subscribedStatus, updatedAt: timeAtLeast(contacts.updatedAt, new Date()) })
    .where(
      and(
        eq(contacts.workspaceId, ctx.workspaceId),
        inArray(contacts.id, [...contactIds]),
        sql`${contacts.emailSubscribedStatus} <> ${subscribedStatus}`,
      ),
    )
}
