/**
 * Whether the link in a mail still does what the contact asked for. A mail may wait for a day, and meanwhile the contact
 * may be confirmed, leave, get another address, or be merged or erased: then it gets no mail. The same rules refuse a
 * link that was mailed before.
 */

import { readSuppressions } from '../../consent/consent-records.ts'
import { isSameAddress } from '../../consent/hash-email.ts'
import { bySubscription } from '../../consent/subscription-record.ts'
import { confirm, noTrackingChoice } from '../../consent/tracking/change-consent.ts'
import { findConsentRow } from '../../consent/tracking/tracking-consents.ts'
import { contacts, subscriptions } from '../../db/schema/index.ts'
import { isRefused } from '../../lists/subscribe.ts'
import type { Mail } from '../../mail/mails.ts'
import { byId } from '../../request/by-id.ts'
import type { Ctx } from '../../request/context.ts'

/** True for a mail without such a link. */
export async function isLinkUsable(ctx: Ctx, mail: Mail): Promise<boolean> {
  if (mail.kind !== 'CONFIRMATION' && mail.kind !== 'TRACKING_CONSENT') return true
  const { contactId } = mail.data
  const [contact] = contactId
    ? await ctx.db
        .select({ email: contacts.email })
        .from(contacts)
        .where(byId(contacts, ctx, contactId))
    : []
  if (!contact || !isSameAddress(contact.email, mail.toAddress)) return false
  return mail.kind === 'CONFIRMATION' ? canSubscribe(ctx, mail) : canGrant(ctx, mail)
}

async function canSubscribe(ctx: Ctx, { data: { listId, contactId }, toAddress, createdAt }: Mail): Promise<boolean> {
  if (!listId || !contactId) return false
  const [subscription] = await ctx.db.select().from(subscriptions).where(bySubscription(ctx, { listId, contactId }))
  if (!subscription || subscription.status === 'CONFIRMED') return false
  return !isRefused(subscription, await readSuppressions(ctx, { email: toAddress, listId }), createdAt)
}

async function canGrant(ctx: Ctx, { data: { contactId, tracking }, toAddress, createdAt }: Mail): Promise<boolean> {
  if (!contactId || !tracking) return false
  const current = (await findConsentRow(ctx, contactId)) ?? noTrackingChoice
  const link = { scope: tracking, issuedAt: createdAt, email: toAddress }
  return confirm(current, link, { confirmedAt: null, confirmedFrom: null }) !== undefined
}
