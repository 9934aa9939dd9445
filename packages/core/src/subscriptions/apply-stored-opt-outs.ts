import { and, eq, inArray } from 'drizzle-orm'
import { recordSubscriptionActivity } from './subscribed-status.ts'
import type { Ctx } from '../request/context.ts'
import { optOuts, subscriptions } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import { isOptOutOf } from './opt-outs.ts'
import { subscriptionColumns, recordSubscriptionChange } from './subscription-record.ts'
import { readSuppression, suppressSubscriptions } from './suppressions.ts'
import { subscriptionUnsubscribed } from './subscription-events.ts'

/**
 * Takes a locked contact off the lists that their address is to be kept out of: those it once opted out of, and all when
 * it is suppressed. For whoever has come to another address, or to another's subscriptions: what else they had stays,
 * on the word of whoever changed them. Answers whether anything changed.
 */
export async function applyStoredOptOuts(ctx: Ctx, contact: { id: ContactId; email: string }): Promise<boolean> {
  const optedOut = ctx.db.select({ listId: optOuts.listId }).from(optOuts).where(isOptOutOf(ctx, contact.email))
  const unsubscribed = await ctx.db
    .update(subscriptions)
    .set({ status: 'UNSUBSCRIBED', unsubscribedAt: new Date() })
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        eq(subscriptions.contactId, contact.id),
        inArray(subscriptions.status, ['PENDING', 'CONFIRMED']),
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
