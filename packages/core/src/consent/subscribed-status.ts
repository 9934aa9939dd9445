/**
 * Derives the `emailSubscribedStatus` of contacts from their subscriptions. It is stored, so that contacts can be
 * filtered by it through an index, and written in the transaction that changes a subscription. The deletion of a list
 * is the exception: a worker updates its contacts in batches, so their status is late by seconds, and by minutes for a
 * million. Campaigns do not read it: only a confirmed subscription to their list makes a contact a recipient.
 */
import { and, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { qualify } from '../db/statements/qualify.ts'
import { timeAtLeast } from '../db/schema/columns.ts'
import { activityAt, contacts } from '../db/schema/index.ts'
import { isAnyOf } from '../db/statements/is-any-of.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/**
 * The first of these statuses that any subscription of the contact has, except subscriptions to deleted lists. Without
 * any, that of the suppressions of its address for all lists.
 */
const subscribedStatus = (ctx: Ctx) => sql`coalesce((
  select case
    when bool_or(s.status = 'COMPLAINED') then 'COMPLAINED'
    when bool_or(s.status = 'BOUNCED') then 'BOUNCED'
    when bool_or(s.status = 'CONFIRMED') then 'SUBSCRIBED'
    when bool_or(s.status = 'PENDING') then 'PENDING'
    when bool_or(s.status = 'UNSUBSCRIBED') then 'UNSUBSCRIBED'
  end
  from subscriptions s join lists l on l.workspace_id = s.workspace_id and l.id = s.list_id
  where s.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and s.contact_id = ${qualify(contacts.id)} and l.deleted_at is null), (
  select case
    when bool_or(reason = 'COMPLAINED') then 'COMPLAINED'
    when bool_or(reason = 'OPTED_OUT') then 'UNSUBSCRIBED'
    when bool_or(reason = 'BOUNCED') then 'BOUNCED'
    when bool_or(reason = 'MANUAL') then 'UNSUBSCRIBED'
  end
  from suppressions
  where workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and contact_id = ${qualify(contacts.id)} and list_id is null), 'NONE')`

/**
 * Updates `emailSubscribedStatus` and `lastActivityAt`. Call it in the transaction that changed a subscription, after
 * `lockContact`.
 */
export async function recordSubscriptionActivity(ctx: Ctx, contactIds: readonly ContactId[]): Promise<void> {
  await ctx.db
    .update(contacts)
    .set({ emailSubscribedStatus: subscribedStatus(ctx), ...activityAt(timestampNow()) })
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), isAnyOf(contacts.id, contactIds)))
}

/** Updates `emailSubscribedStatus` only. The deletion of a list is not an activity of its subscribers. */
export async function refreshSubscribedStatus(ctx: Ctx, contactIds: readonly ContactId[]): Promise<void> {
  await ctx.db
    .update(contacts)
    .set({
      emailSubscribedStatus: subscribedStatus(ctx),
      updatedAt: timeAtLeast(contacts.updatedAt, timestampNow()),
    })
    .where(
      and(
        eq(contacts.workspaceId, ctx.workspaceId),
        isAnyOf(contacts.id, contactIds),
        sql`${contacts.emailSubscribedStatus} <> ${subscribedStatus(ctx)}`,
      ),
    )
}
