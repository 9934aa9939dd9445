import { type BaseCtx, type Ctx, pagesUrlOf, requireLinkAtHost } from '../request/context.ts'
import { invalidLink } from '../kernel/errors.ts'
import { type CampaignId, type ContactId, idOf, type ListId, uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { openPayload, openRepairedPayload, sealPayload, signPayload, verifyPayload } from '../kernel/crypto.ts'
import { undoLifetimeMs } from '../consent/link-rules.ts'
import type { TrackedAction } from '../consent/tracking/tracking-level.ts'
import { type Timestamp, timestampAt } from '../kernel/values/timestamps.ts'

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
  issuedAt: Timestamp
  /** What the email asks to grant too. */
  tracking?: TrackedAction[] | undefined
}
/** `email` is the address that the link was mailed to. */
interface Unsubscription {
  listId: ListId
  contactId: ContactId
  email: string
  /** The campaign of the email. */
  campaignId?: CampaignId | undefined
}
type OpenedUnsubscription = SubscriptionLink & Unsubscription
type OpenedConfirmation = SubscriptionLink & { issuedAt: Timestamp; email: string; tracking: TrackedAction[] }

/** What a contact with this address said by an unsubscribe link, and when. */
interface Ending {
  listId: ListId
  contactId: ContactId
  email: string
  saidAt: Timestamp
}
type OpenedUndo = SubscriptionLink & { saidAt: Timestamp; email: string }

const confirmationLifetimeMs = 7 * 24 * 60 * 60 * 1000

/**
 * Returns the link that confirms a subscription. It is valid for seven days from `issuedAt`, and only while the contact
 * has the email address that the link is mailed to. The same input returns the same link.
 */
export function confirmationUrl(ctx: Ctx, { email, issuedAt, tracking = [], ...link }: Confirmation): string {
  const payload = [...uuids({ ...link, workspaceId: ctx.workspaceId }), Date.parse(issuedAt), email, ...tracking]
  return urlWithToken(ctx, '/public/subscriptions/confirm', sealPayload(ctx.settings.keys.links, 'confirm', payload))
}

/** Opens a confirmation token. Throws `invalid_token` if it is forged, damaged or expired, without a database query. */
export function openConfirmation(ctx: BaseCtx, token: string, now = Date.now()): OpenedConfirmation {
  const payload = openPayload(ctx.settings.keys.links, 'confirm', token)
  const issuedAt = Number(payload?.[3])
  if (!payload || now - issuedAt > confirmationLifetimeMs) throw invalidLink()
  return {
    ...subscriptionAt(ctx, payload),
    issuedAt: timestampAt(issuedAt),
    email: String(payload[4]),
    tracking: payload.slice(5) as TrackedAction[],
  }
}

/** Returns the unsubscribe link, which never expires. */
export function unsubscribeUrl(ctx: Ctx, link: Unsubscription): string {
  return urlWithToken(ctx, '/public/unsubscribe', unsubscribeToken(ctx, { ...link, workspaceId: ctx.workspaceId }))
}

/** Returns the token of an unsubscribe link, for a page. */
export function unsubscribeToken(ctx: BaseCtx, { campaignId, email, ...link }: OpenedUnsubscription): string {
  const campaign = campaignId === undefined ? '' : uuidOf(campaignId)
  return sealPayload(ctx.settings.keys.links, 'unsubscribe', [...uuids(link), campaign, email])
}

/** Opens an unsubscribe token. Throws `invalid_token` if it is forged or damaged. */
export function openUnsubscribe(ctx: BaseCtx, token: string): OpenedUnsubscription {
  const payload = openRepairedPayload(ctx.settings.keys.links, 'unsubscribe', token)
  if (!payload) throw invalidLink()
  const [, , , campaign = '', email = ''] = payload
  return {
    ...subscriptionAt(ctx, payload),
    ...(campaign !== '' && { campaignId: idOf('cmp', String(campaign)) }),
    email: String(email),
  }
}

/** Returns the unsubscribe link of a preview or a test email. It shows a page and changes nothing. */
export function testUnsubscribeUrl(ctx: Ctx, listId: ListId): string {
  const payload = [ctx.workspaceId, listId].map(uuidOf)
  return urlWithToken(ctx, '/public/unsubscribe', signPayload(ctx.settings.keys.links, testPurpose, payload))
}

/** Whether a token is that of a preview or a test email. */
export function isTestUnsubscribe(ctx: BaseCtx, token: string): boolean {
  const payload = verifyPayload(ctx.settings.keys.links, testPurpose, token)
  if (payload) requireLinkAtHost(ctx, idOf('wsp', String(payload[0])))
  return payload !== undefined
}

const testPurpose = 'unsubscribe-test'

/** Returns the token that undoes an unsubscribe. It is valid for ten minutes from `saidAt`. */
export function undoToken(ctx: Ctx, { email, saidAt, ...link }: Ending): string {
  const payload = [...uuids({ ...link, workspaceId: ctx.workspaceId }), Date.parse(saidAt), email]
  return sealPayload(ctx.settings.keys.links, 'undo unsubscribe', payload)
}

/** Opens an undo token. Throws `invalid_token` if it is forged, damaged or expired, without a database query. */
export function openUndo(ctx: BaseCtx, token: string, now = Date.now()): OpenedUndo {
  const payload = openPayload(ctx.settings.keys.links, 'undo unsubscribe', token)
  const saidAt = Number(payload?.[3])
  if (!payload || now - saidAt > undoLifetimeMs) throw invalidLink()
  return { ...subscriptionAt(ctx, payload), saidAt: timestampAt(saidAt), email: String(payload[4]) }
}

function urlWithToken(ctx: Ctx, path: string, token: string) {
  return `${pagesUrlOf(ctx)}${path}?token=${token}`
}

function uuids(link: SubscriptionLink) {
  return [link.workspaceId, link.listId, link.contactId].map(uuidOf)
}

function subscriptionAt(ctx: BaseCtx, [workspace, list, contact]: (string | number)[]): SubscriptionLink {
  const workspaceId = idOf('wsp', String(workspace))
  requireLinkAtHost(ctx, workspaceId)
  return {
    workspaceId,
    listId: idOf('lst', String(list)),
    contactId: idOf('con', String(contact)),
  }
}
