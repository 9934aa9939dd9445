/** The subscriptions of a contact follow what stands against its address: see `suppression-reasons.ts`. */
import { and, eq, inArray, isNotNull, or, sql } from 'drizzle-orm'
import { optOuts, type SuppressionReason, subscriptions } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, text, timestamptz } from '../db/statements/sql-types.ts'
import { emitMany } from '../events/emit.ts'
import { type ContactId, type ListId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { readSuppressions } from './find-suppressions.ts'
import { isOptOutOf } from './opt-outs.ts'
import { linkSuppressions } from './store-suppressions.ts'
import { recordSubscriptionActivity } from './subscribed-status.ts'
import { subscriptionConfirmed, subscriptionCreated, subscriptionUnsubscribed } from './subscription-events.ts'
import { recordSubscriptionChange, subscriptionColumns, toSubscription } from './subscription-record.ts'
import { type Reason, statusByReason } from './suppression-reasons.ts'

interface Suppressed {
  contactId: ContactId
  /** The strictest one. */
  reason: Reason
}

/** A subscription that became stricter. */
export interface EndedSubscription {
  contactId: ContactId
  listId: ListId
}

/**
 * Applies what stands against the address of a locked contact that got another email or the subscriptions of a merged
 * contact: stored opt-outs of lists, and the suppression of the address. Never makes a subscription less strict. Returns
 * whether anything changed.
 */
export async function applySuppressions(ctx: Ctx, contact: { id: ContactId; email: string }): Promise<boolean> {
  const hasOptedOut = await applyStoredOptOuts(ctx, contact)
  const [strictest] = await readSuppressions(ctx, { email: contact.email })
  if (!strictest) return hasOptedOut
  await linkSuppressions(ctx, [contact])
  const ended = await endSuppressed(ctx, [{ contactId: contact.id, reason: strictest.reason }])
  await emitUnsubscribed(ctx, ended)
  await recordSubscriptionActivity(ctx, [contact.id])
  return true
}

/**
 * Adjusts the subscriptions of a locked contact to the reasons that remain after one was lifted, or after the contact
 * left the address that they concern. Subscriptions that only a bounce or a block ended get their former status, unless
 * the address opted out of the list meanwhile.
 */
export async function applyRemaining(
  ctx: Ctx,
  contact: { id: ContactId; email: string },
  [strictest]: readonly SuppressionReason[],
): Promise<void> {
  await applyStoredOptOuts(ctx, contact)
  if (strictest) {
    await emitUnsubscribed(ctx, await endSuppressed(ctx, [{ contactId: contact.id, reason: strictest.reason }]))
  } else {
    await restoreReplaced(ctx, contact.id)
  }
  await recordSubscriptionActivity(ctx, [contact.id])
}

/** Emits `subscription.unsubscribed` for subscriptions that `endSuppressed` has ended. */
export async function emitUnsubscribed(ctx: Ctx, ended: readonly EndedSubscription[]): Promise<void> {
  if (ended.length === 0) return
  const keys = new Set(ended.map(({ contactId, listId }) => `${contactId} ${listId}`))
  const ids = new Set(ended.map(({ contactId }) => contactId))
  const rows = await ctx.db
    .select(subscriptionColumns)
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        // One parameter: a contact may leave many lists.
        sql`${subscriptions.contactId} = any(${sql.param([...ids].map(uuidOf))}::uuid[])`,
      ),
    )
    .orderBy(subscriptions.contactId, subscriptions.listId)
  const changed = rows.filter(({ contactId, listId }) => keys.has(`${contactId} ${listId}`))
  await emitMany(ctx, subscriptionUnsubscribed, changed.map(toSubscription))
}

/**
 * Ends the subscriptions of locked contacts by the strictest reason that stands against each, unless they are at least
 * as strict already. Returns those that changed.
 */
export function endSuppressed(
  ctx: Ctx,
  suppressed: readonly Suppressed[],
  now = new Date(),
): Promise<EndedSubscription[]> {
  const reasons = suppressed.map(({ reason }) => reason)
  return endSubscriptions(ctx.db, {
    workspaceId: ctx.workspaceId,
    contactIds: suppressed.map(({ contactId }) => contactId),
    reasons,
    statuses: reasons.map((reason) => statusByReason[reason]),
    now,
  })
}

/** A bounce or a block replaces the status of an open subscription; what the person said ends it. */
const endSubscriptions = namedStatement('end suppressed subscriptions', {
  params: {
    workspaceId: subscriptions.workspaceId,
    contactIds: arrayOf(subscriptions.contactId),
    reasons: arrayOf(text),
    statuses: arrayOf(text),
    now: timestamptz,
  },
  columns: { contactId: subscriptions.contactId, listId: subscriptions.listId },
  sql: ({ workspaceId, contactIds, reasons, statuses, now }) => sql`
    update subscriptions s
    set status = given.status, is_removed = given.reason = 'MANUAL',
      replaced_status = case when given.reason in ('BOUNCED', 'MANUAL') then coalesce(s.replaced_status, s.status) end,
      unsubscribed_at = case
        when given.status = 'UNSUBSCRIBED' then ${now}
        when given.status = 'BOUNCED' and s.replaced_status is not null then null
        else s.unsubscribed_at end
    from unnest(${contactIds}, ${reasons}, ${statuses}) as given (contact_id, reason, status)
    where s.workspace_id = ${workspaceId} and s.contact_id = given.contact_id
      and case
        when given.reason = 'COMPLAINED' then s.status <> 'COMPLAINED'
        when given.reason = 'OPTED_OUT' then s.status <> 'COMPLAINED' and (s.status <> 'UNSUBSCRIBED' or s.is_removed)
        else s.status in ('PENDING', 'CONFIRMED') or (s.replaced_status is not null and s.status <> given.status)
      end
    returning s.contact_id, s.list_id`,
})

/** Whether a bounce or a block has suspended the subscription, which has the replaced status again once that is lifted. */
export const isSuspended = sql<boolean>`(${subscriptions.replacedStatus} is not null
  and (${subscriptions.status} = 'BOUNCED' or ${subscriptions.isRemoved}))`

async function restoreReplaced(ctx: Ctx, contactId: ContactId): Promise<void> {
  const restored = await ctx.db
    .update(subscriptions)
    .set({
      status: sql`${subscriptions.replacedStatus}`,
      replacedStatus: null,
      isRemoved: false,
      unsubscribedAt: null,
    })
    .where(and(eq(subscriptions.workspaceId, ctx.workspaceId), eq(subscriptions.contactId, contactId), isSuspended))
    .returning(subscriptionColumns)
  const records = restored.map(toSubscription)
  await emitMany(
    ctx,
    subscriptionCreated,
    records.filter(({ status }) => status === 'PENDING'),
  )
  await emitMany(
    ctx,
    subscriptionConfirmed,
    records.filter(({ status }) => status === 'CONFIRMED'),
  )
}

/** Unsubscribes a locked contact from the lists that its address opted out of. Returns whether anything changed. */
async function applyStoredOptOuts(ctx: Ctx, contact: { id: ContactId; email: string }): Promise<boolean> {
  const optedOut = ctx.db.select({ listId: optOuts.listId }).from(optOuts).where(isOptOutOf(ctx, contact.email))
  const unsubscribed = await ctx.db
    .update(subscriptions)
    .set({ status: 'UNSUBSCRIBED', unsubscribedAt: new Date(), isRemoved: false, replacedStatus: null })
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        eq(subscriptions.contactId, contact.id),
        or(
          inArray(subscriptions.status, ['PENDING', 'CONFIRMED']),
          eq(subscriptions.isRemoved, true),
          isNotNull(subscriptions.replacedStatus),
        ),
        inArray(subscriptions.listId, optedOut),
      ),
    )
    .returning(subscriptionColumns)
  for (const row of unsubscribed) await recordSubscriptionChange(ctx, row, [subscriptionUnsubscribed])
  return unsubscribed.length > 0
}
