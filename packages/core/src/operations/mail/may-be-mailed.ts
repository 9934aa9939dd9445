/**
 * Whether a single mail may still go. It may wait for a day, and then for a connection: meanwhile its address may be
 * suppressed, and its contact may be confirmed, leave, get another address, or be merged or erased. The same rules refuse
 * a link that was mailed before.
 */
import { and, eq, isNull } from 'drizzle-orm'
import { readSuppressions } from '../../consent/consent-records.ts'
import { bySubscription } from '../../consent/subscription-record.ts'
import { canConfirm } from '../../consent/suppression-rows.ts'
import { noTrackingState, wouldGrant } from '../../consent/tracking/change-tracking.ts'
import { findTrackingState } from '../../consent/tracking/tracking-consents.ts'
import { contacts, lists, mails, subscriptions } from '../../db/schema/index.ts'
import { isRefused } from '../../consent/link-rules.ts'
import { isSameAddress } from '../../kernel/values/email-key.ts'
import { type ClaimedMail, isRequestedMail, type Mail, type MailOutcome } from '../../mail/mails.ts'
import { byId } from '../../request/by-id.ts'
import type { Ctx } from '../../request/context.ts'
import { findAddressBlock } from '../../suppressions/email-block.ts'
import { findHolder } from '../preferences/personal-data-mail.ts'

type Refused = Extract<MailOutcome, { kind: 'refused' }>

export const nothingToSend: Refused = {
  kind: 'refused',
  temporary: false,
  isUnattempted: true,
  error: 'Nothing to send: the email is no longer needed',
}

/** Asks for a mail that was claimed a while ago, and for its claim. Returns the outcome if it may not go. */
export async function askAgainForMail(ctx: Ctx, mail: ClaimedMail): Promise<Refused | undefined> {
  const isLastAttempt = and(byId(mails, ctx, mail.id), eq(mails.token, mail.token ?? ''), eq(mails.status, 'PENDING'))
  const [current] = await ctx.db.select({ id: mails.id }).from(mails).where(isLastAttempt)
  const error = 'The email waited too long for a connection'
  if (!current) return { kind: 'refused', temporary: true, isUnattempted: true, error }
  return (await mayBeMailed(ctx, mail)) ? undefined : nothingToSend
}

/**
 * A person who asks for a mail gets it after an opt-out too, and so does a person who is invited. Mails about an account
 * always go to its user.
 */
export async function mayBeMailed(ctx: Ctx, mail: Mail): Promise<boolean> {
  const { kind, toAddress: email, data } = mail
  if (kind === 'INVITE') return (await findAddressBlock(ctx, email)) === undefined
  const isRequested = isRequestedMail(kind)
  if (!isRequested && kind !== 'CAMPAIGN_TEST') return true
  const rows = await readSuppressions(ctx, { email, listId: data.listId })
  if (!isRequested) return rows.length === 0
  if (!canConfirm(rows)) return false
  return kind === 'PERSONAL_DATA' ? (await findHolder(ctx, mail)) !== undefined : await isLinkUsable(ctx, mail)
}

/** Whether the link in a mail still does what the contact asked for. */
async function isLinkUsable(ctx: Ctx, mail: Mail): Promise<boolean> {
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

/** The link grants tracking too: that is left to a contact who was confirmed meanwhile. */
async function canSubscribe(ctx: Ctx, mail: Mail): Promise<boolean> {
  const { toAddress, createdAt } = mail
  const { listId, contactId } = mail.data
  if (!listId || !contactId) return false
  const [found] = await ctx.db
    .select({ subscription: subscriptions })
    .from(subscriptions)
    .innerJoin(lists, and(eq(lists.workspaceId, subscriptions.workspaceId), eq(lists.id, subscriptions.listId)))
    .where(and(bySubscription(ctx, { listId, contactId }), isNull(lists.deletedAt)))
  const subscription = found?.subscription
  if (!subscription || (subscription.status === 'CONFIRMED' && !(await canGrant(ctx, mail)))) return false
  return !isRefused(subscription, await readSuppressions(ctx, { email: toAddress, listId }), createdAt)
}

async function canGrant(ctx: Ctx, { data: { contactId, tracking }, toAddress, createdAt }: Mail): Promise<boolean> {
  if (!contactId || !tracking) return false
  const current = (await findTrackingState(ctx, contactId)) ?? noTrackingState
  return wouldGrant(current, { scope: tracking, issuedAt: createdAt, email: toAddress })
}
