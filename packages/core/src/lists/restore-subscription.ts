import { and, eq, isNotNull } from 'drizzle-orm'
import { subscriptions } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'
import { consentValue, givenConsent, withConsent } from '../subscriptions/consent.ts'
import { subscriptionConfirmed } from '../subscriptions/subscription-events.ts'
import {
  bySubscription,
  recordSubscriptionChange,
  subscriptionColumns,
  type SubscriptionKey,
} from '../subscriptions/subscription-record.ts'

/**
 * Sets a subscription of a locked contact to CONFIRMED again, with its original `confirmedAt`, if it ended at exactly
 * this time and has not changed since. Returns whether it changed.
 */
export async function restoreSubscription(
  ctx: Ctx,
  key: SubscriptionKey,
  { email, unsubscribedAt }: { email: string; unsubscribedAt: Date },
): Promise<boolean> {
  const consent = consentValue(givenConsent(ctx, email, { method: 'UNDO_UNSUBSCRIBE' }))
  const [restored] = await ctx.db
    .update(subscriptions)
    .set({ status: 'CONFIRMED', unsubscribedAt: null, consent: withConsent(consent) })
    .where(
      and(
        bySubscription(ctx, key),
        eq(subscriptions.status, 'UNSUBSCRIBED'),
        eq(subscriptions.unsubscribedAt, unsubscribedAt),
        eq(subscriptions.isRemoved, false),
        isNotNull(subscriptions.confirmedAt),
      ),
    )
    .returning(subscriptionColumns)
  if (restored) await recordSubscriptionChange(ctx, restored, [subscriptionConfirmed])
  return restored !== undefined
}
