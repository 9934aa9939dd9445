/** What a contact's subscriptions make of the contact. */
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { activityAt, contacts, updatedAtLeast } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'

/** What `emailSubscribedStatus` is: derived from the contact's subscriptions, the strictest word first. */
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
 * Sets `emailSubscribedStatus` anew and moves `lastActivityAt`; call it in the transaction that changed a subscription,
 * after `lockContact`.
 */
export async function recordSubscriptionActivity(ctx: Ctx, contactIds: readonly ContactId[]): Promise<void> {
  await ctx.db
    .update(contacts)
    .set({ emailSubscribedStatus: subscribedStatus, ...activityAt(new Date()) })
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), inArray(contacts.id, [...contactIds])))
}

/** The same where it was nobody's activity: subscriptions went with their list. */
export async function refreshSubscribedStatus(ctx: Ctx, contactIds: readonly ContactId[]): Promise<void> {
  await ctx.db
    .update(contacts)
    .set({ emailSubscribedStatus: subscribedStatus, updatedAt: updatedAtLeast(new Date()) })
    .where(
      and(
        eq(contacts.workspaceId, ctx.workspaceId),
        inArray(contacts.id, [...contactIds]),
        sql`${contacts.emailSubscribedStatus} <> ${subscribedStatus}`,
      ),
    )
}
