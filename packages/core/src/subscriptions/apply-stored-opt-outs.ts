import { and, eq, inArray, or } from 'drizzle-orm'
import { recordSubscriptionActivity } from './subscribed-status.ts'
import type { Ctx } from '../request/context.ts'
import { optOuts, subscriptions } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import { isOptOutOf } from './opt-outs.ts'
import { subscriptionColumns, recordSubscriptionChange } from './subscription-record.ts'
import { readSuppression, suppressSubscriptions } from './suppressions.ts'
import { subscriptionUnsubscribed } from './subscription-events.ts'

/**
 * Applies stored opt-outs to a locked contact that got another email or the subscriptions of a merged contact. The
 * contact is unsubscribed from the lists that its address opted out of, and from all lists if the address is
 * suppressed. Other subscriptions are unchanged. Returns whether anything changed.
 */
export async function applyStoredOptOuts(ctx: Ctx, contact: { id: ContactId; email: string }): Promise<boolean> {
  const optedOut = ctx.db.select({ listId: optOuts.listId }).from(optOuts).where(isOptOutOf(ctx, contact.email))
  const unsubscribed = await ctx.db
    .update(subscriptions)
    .set({ status: 'UNSUBSCRIBED', unsubscribedAt: new Date(), isRemoved: false })
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        eq(subscriptions.contactId, contact.id),
        or(inArray(subscriptions.status, ['PENDING', 'CONFIRMED']), eq(subscriptions.isRemoved, true)),
        inArray(subscriptions.listId, optedOut),
      ),
    )
    .returning(subscriptionColumns)
  for (const row of unsubscribed) await recordSubscriptionChange(ctx, row, [subscriptionUnsubscribed])
  const status = await readSuppression(ctx, contact.email)
  const isSuppressed = status !== undefined && (await suppressSubscriptions(ctx, contact.id, status))
  if (isSuppressed) await recordSubscriptionActivity(ctx, [contact.id])
  return unsubscribed.length > 0 || isSuppressed
}
