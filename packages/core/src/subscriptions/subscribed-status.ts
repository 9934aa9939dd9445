/**
 * Derives the `emailSubscribedStatus` of contacts from their subscriptions. It is stored, so that contacts can be
 * filtered by it through an index, with one exception: the deletion of a list changes the status of up to a million
 * contacts at once. A worker updates them in batches; until it is done, reads and filters derive the status of each
 * contact. So no response is stale, also while no worker runs, and the request that deletes the list stays short.
 * Deriving costs about 5 µs per contact; a filter that matches few contacts may derive the status of all contacts of
 * the workspace.
 *
 * Drizzle omits the table of an interpolated column in some selects, so that the column would belong to the subquery.
 * Therefore the columns of `contacts` are qualified by hand.
 */
import { and, eq, inArray, isNotNull, type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { timeAtLeast } from '../db/schema/columns.ts'
import { activityAt, contacts, lists } from '../db/schema/index.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'

const workspaceOf = (ctx: Ctx) => sql`${uuidOf(ctx.workspaceId)}::uuid`

type ContactStatus = typeof contacts.$inferSelect.emailSubscribedStatus

/** The first of these statuses that any subscription of the contact has, except subscriptions to deleted lists. */
const subscribedStatus = (workspaceId: SQLWrapper) => sql`coalesce((
  select case
    when bool_or(s.status = 'COMPLAINED') then 'COMPLAINED'
    when bool_or(s.status = 'BOUNCED') then 'BOUNCED'
    when bool_or(s.status = 'CONFIRMED') then 'SUBSCRIBED'
    when bool_or(s.status = 'PENDING') then 'PENDING'
    when bool_or(s.status = 'UNSUBSCRIBED') then 'UNSUBSCRIBED'
  end
  from subscriptions s join lists l on l.workspace_id = s.workspace_id and l.id = s.list_id
  where s.workspace_id = ${workspaceId} and s.contact_id = ${contacts}.id and l.deleted_at is null), 'NONE')`

/**
 * The status to show: derived while a deleted list of the workspace still has subscriptions, otherwise stored. With a
 * constant `workspaceId`, a statement looks for a deleted list once, and only if a contact has a subscription. Not
 * `exists`, for which the planner may read the lists of all workspaces.
 */
export const currentStatus = (workspaceId: SQLWrapper) => sql<ContactStatus>`case
  when ${contacts}.email_subscribed_status <> 'NONE' and (
    select true from lists l where l.workspace_id = ${workspaceId} and l.deleted_at is not null limit 1)
  then ${subscribedStatus(workspaceId)} else ${contacts}.email_subscribed_status end`

/** The status of a contact for the filters of one statement: whenever it is current, the stored one, with its index. */
export async function filterableStatus(ctx: Ctx): Promise<SQL> {
  const [deletedList] = await ctx.db
    .select({ id: lists.id })
    .from(lists)
    .where(and(eq(lists.workspaceId, ctx.workspaceId), isNotNull(lists.deletedAt)))
    .limit(1)
  return deletedList ? currentStatus(workspaceOf(ctx)) : sql`${contacts}.email_subscribed_status`
}

/** The condition for contacts with this status. */
export async function hasStatus(ctx: Ctx, status: ContactStatus): Promise<SQL> {
  return sql`${await filterableStatus(ctx)} = ${status}`
}

/**
 * Updates `emailSubscribedStatus` and `lastActivityAt`. Call it in the transaction that changed a subscription, after
 * `lockContact`.
 */
export async function recordSubscriptionActivity(ctx: Ctx, contactIds: readonly ContactId[]): Promise<void> {
  await ctx.db
    .update(contacts)
    .set({ emailSubscribedStatus: subscribedStatus(workspaceOf(ctx)), ...activityAt(new Date()) })
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), inArray(contacts.id, [...contactIds])))
}

/** Updates `emailSubscribedStatus` only. The deletion of a list is not an activity of its subscribers. */
export async function refreshSubscribedStatus(ctx: Ctx, contactIds: readonly ContactId[]): Promise<void> {
  await ctx.db
    .update(contacts)
    .set({
      emailSubscribedStatus: subscribedStatus(workspaceOf(ctx)),
      updatedAt: timeAtLeast(contacts.updatedAt, new Date()),
    })
    .where(
      and(
        eq(contacts.workspaceId, ctx.workspaceId),
        inArray(contacts.id, [...contactIds]),
        sql`${contacts.emailSubscribedStatus} <> ${subscribedStatus(workspaceOf(ctx))}`,
      ),
    )
}
