import { and, eq, notInArray, or, sql } from 'drizzle-orm'
import { subscriptions, workspaces } from '../db/schema/index.ts'
import { emitMany } from '../events/emit.ts'
import type { ContactId, ListId } from '../kernel/ids.ts'
import { requestConfirmationMail } from '../mail/request-confirmation-mail.ts'
import type { Ctx } from '../request/context.ts'
import { applyRemaining, applySuppressions } from './apply-suppressions.ts'
import { type ConsentSource, consentValue, givenConsent, requestedConsent, withConsent } from './consent.ts'
import { lockAddresses, readSuppressions } from './find-suppressions.ts'
import { hashEmail } from './hash-email.ts'
import { copyOptOuts, storeOptOutsOfContact } from './opt-outs.ts'
import { copySuppressions, forgetContact } from './store-suppressions.ts'
import { recordSubscriptionActivity } from './subscribed-status.ts'
import { subscriptionCreated } from './subscription-events.ts'
import { copyTrackingDenials, storeTrackingDenials } from './tracking/tracking-denials.ts'
import { changeTrackedAddress } from './tracking/tracking-consents.ts'
import { subscriptionColumns, toSubscription } from './subscription-record.ts'

interface AddressOfContact {
  id: ContactId
  email: string
}

/**
 * Makes what a person said hold for the address that their contact loses, and for the address of the contact that they
 * continue as: opt-outs of lists and of all lists, complaints, blocks, and denials of tracking. A bounce concerns its
 * address alone. The caller has locked the contacts.
 */
export async function leaveAddress(ctx: Ctx, former: AddressOfContact, next: AddressOfContact): Promise<void> {
  await lockAddresses(ctx, [former.email, next.email], 'exclusive')
  await storeOptOutsOfContact(ctx, former)
  await copyOptOuts(ctx, { from: former.email, to: next.email })
  await storeTrackingDenials(ctx, former)
  await copyTrackingDenials(ctx, { from: former.email, to: next.email })
  await copySuppressions(ctx, { from: former.email, to: next.email, contactId: next.id })
  await forgetContact(ctx, { email: former.email })
}

export interface AddressChange {
  id: ContactId
  from: string
  to: string
  /** Default: the actor of the request. */
  reportedBy?: Pick<ConsentSource, 'importId' | 'actorId'> | undefined
}

/**
 * Applies a change of address to the subscriptions of a locked contact, whose row is saved. What the person said holds
 * for both addresses, what stands against the new one applies, and a bounce remains with the old one. Subscriptions that
 * are still confirmed then continue at the new address, or ask it: see `moveConfirmed`. Returns whether a subscription
 * may have changed.
 */
export async function changeAddress(ctx: Ctx, change: AddressChange): Promise<boolean> {
  const { id, from, to } = change
  await leaveAddress(ctx, { id, email: from }, { id, email: to })
  const wasSuppressed = (await readSuppressions(ctx, { email: from })).length > 0
  if (wasSuppressed) await applyRemaining(ctx, { id, email: to }, await readSuppressions(ctx, { email: to }))
  const isChanged = await applySuppressions(ctx, { id, email: to })
  await changeTrackedAddress(ctx, { id, email: to })
  const isAsked = await moveConfirmed(ctx, change)
  return wasSuppressed || isChanged || isAsked
}

/**
 * Adds the proof of the change to the confirmed subscriptions. Those to `keptLists` stay as they are: the contact has
 * subscribed to these with the address that it has now, before another contact was merged into it.
 *
 * With the setting `confirmChangedAddress`, the others become PENDING, with `subscription.created` for each, and the new
 * address is asked to confirm within the limits for these emails. Those that a bounce or a block of the new address
 * suspends return as PENDING when it is lifted. Returns whether any became PENDING.
 */
export async function moveConfirmed(
  ctx: Ctx,
  { id, from, to, reportedBy }: AddressChange,
  keptLists: readonly ListId[] = [],
): Promise<boolean> {
  const [workspace] = await ctx.db
    .select({ mustConfirm: workspaces.confirmChangedAddress })
    .from(workspaces)
    .where(eq(workspaces.id, ctx.workspaceId))
  const mustConfirm = workspace?.mustConfirm ?? false
  const source = { method: 'ADDRESS_CHANGED', formerEmailHash: hashEmail(ctx, from), ...reportedBy } as const
  const proof = mustConfirm ? requestedConsent(ctx, to, source) : givenConsent(ctx, to, source)
  const { status, replacedStatus } = subscriptions
  const asked = {
    status: sql`case when ${status} = 'CONFIRMED' then 'PENDING' else ${status} end`,
    replacedStatus: sql`case when ${replacedStatus} = 'CONFIRMED' then 'PENDING' else ${replacedStatus} end`,
    confirmedAt: null,
  }
  const moved = await ctx.db
    .update(subscriptions)
    .set({ consent: withConsent(consentValue(proof)), ...(mustConfirm && asked) })
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        eq(subscriptions.contactId, id),
        or(eq(status, 'CONFIRMED'), eq(replacedStatus, 'CONFIRMED')),
        notInArray(subscriptions.listId, [...keptLists]),
      ),
    )
    .returning(subscriptionColumns)
  const pending = moved.filter((row) => row.status === 'PENDING')
  if (pending.length === 0) return false
  await recordSubscriptionActivity(ctx, [id])
  await emitMany(ctx, subscriptionCreated, pending.map(toSubscription))
  for (const { listId } of pending)
    await requestConfirmationMail(ctx, { kind: 'CONFIRMATION', email: to, listId, contactId: id })
  return true
}
