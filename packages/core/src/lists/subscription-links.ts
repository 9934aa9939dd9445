import type { BaseCtx, Ctx } from '../request/context.ts'
import { AppError } from '../kernel/errors.ts'
import { type CampaignId, type ContactId, idOf, type ListId, uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { verifyPayload, signPayload } from '../kernel/crypto.ts'
import type { TrackedAction } from '../subscriptions/tracking/tracking-level.ts'
import { hashEmail } from '../subscriptions/hash-email.ts'

/** One contact's subscription to one list, as identified by a link in an email. */
export interface SubscriptionLink {
  workspaceId: WorkspaceId
  listId: ListId
  contactId: ContactId
}

interface Confirmation {
  listId: ListId
  contactId: ContactId
  email: string
  issuedAt: Date
  /** What the email asks to grant too. */
  tracking?: TrackedAction[] | undefined
}
interface Unsubscription {
  listId: ListId
  contactId: ContactId
  email?: string
  campaignId?: CampaignId
}
type OpenedUnsubscription = SubscriptionLink & { campaignId?: CampaignId; emailHash?: string }
type OpenedConfirmation = SubscriptionLink & { issuedAt: Date; emailHash: string; tracking: TrackedAction[] }

/** The end of a confirmed subscription, by the contact with this address. */
interface Ending {
  listId: ListId
  contactId: ContactId
  email: string
  unsubscribedAt: Date
}
type OpenedUndo = SubscriptionLink & { unsubscribedAt: Date; emailHash: string }

const confirmationLifetimeMs = 7 * 24 * 60 * 60 * 1000
export const undoLifetimeMs = 10 * 60 * 1000

/**
 * Returns the link that confirms a subscription. It is valid for seven days from `issuedAt`, and only while the contact
 * has the email address that the link is mailed to. The same input returns the same link.
 */
export function confirmationUrl(ctx: Ctx, { email, issuedAt, tracking = [], ...link }: Confirmation): string {
  const payload = [
    ...uuids({ ...link, workspaceId: ctx.workspaceId }),
    issuedAt.getTime(),
    hashEmail(ctx, email),
    ...tracking,
  ]
  return urlWithToken(ctx, '/public/subscriptions/confirm', signPayload(ctx.settings.keys.links, 'confirm', payload))
}

/** Opens a confirmation token. Throws `invalid_token` if it is forged, damaged or expired, without a database query. */
export function openConfirmation(ctx: BaseCtx, token: string, now = Date.now()): OpenedConfirmation {
  const payload = verifyPayload(ctx.settings.keys.links, 'confirm', token)
  const issuedAt = Number(payload?.[3])
  if (!payload || now - issuedAt > confirmationLifetimeMs) throw invalidLink()
  return {
    ...subscriptionOf(payload),
    issuedAt: new Date(issuedAt),
    emailHash: String(payload[4]),
    tracking: payload.slice(5) as TrackedAction[],
  }
}

/**
 * Returns the unsubscribe link, which never expires. `campaignId` is the campaign of the email, `email` its recipient.
 */
export function unsubscribeUrl(ctx: Ctx, { email, campaignId, ...link }: Unsubscription): string {
  const emailHash = email === undefined ? '' : hashEmail(ctx, email)
  const token = unsubscribeToken(ctx, { ...link, workspaceId: ctx.workspaceId, campaignId, emailHash })
  return urlWithToken(ctx, '/public/unsubscribe', token)
}

/** Returns the token of an unsubscribe link, for a page that knows only the hash of the address. */
export function unsubscribeToken(
  ctx: BaseCtx,
  { campaignId, emailHash, ...link }: SubscriptionLink & { campaignId?: CampaignId | undefined; emailHash: string },
): string {
  const campaign = campaignId === undefined ? '' : uuidOf(campaignId)
  return signPayload(ctx.settings.keys.links, 'unsubscribe', [...uuids(link), campaign, emailHash])
}

/** Opens an unsubscribe token. Throws `invalid_token` if it is forged or damaged. */
export function openUnsubscribe(ctx: BaseCtx, token: string): OpenedUnsubscription {
  const payload = verifyPayload(ctx.settings.keys.links, 'unsubscribe', token)
  if (!payload) throw invalidLink()
  // Tokens of older versions have fewer fields.
  const [, , , campaign = '', emailHash = ''] = payload
  return {
    ...subscriptionOf(payload),
    ...(campaign !== '' && { campaignId: idOf('cmp', String(campaign)) }),
    ...(emailHash !== '' && { emailHash: String(emailHash) }),
  }
}

/** Returns the unsubscribe link of a preview or a test email. It shows a page and changes nothing. */
export function testUnsubscribeUrl(ctx: Ctx, listId: ListId): string {
  const payload = [ctx.workspaceId, listId].map(uuidOf)
  return urlWithToken(ctx, '/public/unsubscribe', signPayload(ctx.settings.keys.links, testPurpose, payload))
}

/** Whether a token is that of a preview or a test email. */
export function isTestUnsubscribe(ctx: BaseCtx, token: string): boolean {
  return verifyPayload(ctx.settings.keys.links, testPurpose, token) !== undefined
}

const testPurpose = 'unsubscribe-test'

/** Returns the token that undoes an unsubscribe. It is valid for ten minutes from `unsubscribedAt`. */
export function undoToken(ctx: Ctx, { email, unsubscribedAt, ...link }: Ending): string {
  const payload = [...uuids({ ...link, workspaceId: ctx.workspaceId }), unsubscribedAt.getTime(), hashEmail(ctx, email)]
  return signPayload(ctx.settings.keys.links, 'undo unsubscribe', payload)
}

/** Opens an undo token. Throws `invalid_token` if it is forged, damaged or expired, without a database query. */
export function openUndo(ctx: BaseCtx, token: string, now = Date.now()): OpenedUndo {
  const payload = verifyPayload(ctx.settings.keys.links, 'undo unsubscribe', token)
  const unsubscribedAt = Number(payload?.[3])
  if (!payload || now - unsubscribedAt > undoLifetimeMs) throw invalidLink()
  return { ...subscriptionOf(payload), unsubscribedAt: new Date(unsubscribedAt), emailHash: String(payload[4]) }
}

export const invalidLink = () => new AppError('invalid_token', 'Invalid or expired link')

function urlWithToken(ctx: Ctx, path: string, token: string) {
  return `${ctx.settings.publicUrl}${path}?token=${token}`
}

function uuids(link: SubscriptionLink) {
  return [link.workspaceId, link.listId, link.contactId].map(uuidOf)
}

function subscriptionOf([workspace, list, contact]: (string | number)[]): SubscriptionLink {
  return {
    workspaceId: idOf('wsp', String(workspace)),
    listId: idOf('lst', String(list)),
    contactId: idOf('con', String(contact)),
  }
}
