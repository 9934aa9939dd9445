import type { BaseCtx, Ctx } from '../request/context.ts'
import { AppError } from '../kernel/errors.ts'
import { type CampaignId, type ContactId, idOf, type ListId, uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { verifyPayload, signPayload } from '../kernel/crypto.ts'
import { hashEmail } from '../subscriptions/opt-outs.ts'

/** One contact's subscription to one list, as a link in a mail names it. */
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
}
interface Unsubscription {
  listId: ListId
  contactId: ContactId
  email?: string
  campaignId?: CampaignId
}
type OpenedUnsubscription = SubscriptionLink & { campaignId?: CampaignId; emailHash?: string }
type OpenedConfirmation = SubscriptionLink & { issuedAt: Date; emailHash: string }

const confirmationLifetimeMs = 7 * 24 * 60 * 60 * 1000

/**
 * The link that confirms a subscription, good for seven days from `issuedAt`, and for the address it is mailed to: what
 * its owner says of a contact counts while it is theirs. The same input gives the same link.
 */
export function confirmationUrl(ctx: Ctx, { email, issuedAt, ...link }: Confirmation): string {
  const payload = [...uuids({ ...link, workspaceId: ctx.workspaceId }), issuedAt.getTime(), hashEmail(ctx, email)]
  return urlWithToken(ctx, '/public/subscriptions/confirm', signPayload(ctx.settings.keys.links, 'confirm', payload))
}

/** Opens a confirmation token. Forged, damaged or expired: invalid, without a look at the database. */
export function openConfirmation(ctx: BaseCtx, token: string, now = Date.now()): OpenedConfirmation {
  const payload = verifyPayload(ctx.settings.keys.links, 'confirm', token)
  const issuedAt = Number(payload?.[3])
  if (!payload || now - issuedAt > confirmationLifetimeMs) throw invalidLink()
  return { ...subscriptionOf(payload), issuedAt: new Date(issuedAt), emailHash: String(payload[4]) }
}

/** The link that unsubscribes, good for ever. `campaignId`: the campaign whose mail it stands in. `email`: whose. */
export function unsubscribeUrl(ctx: Ctx, { email, campaignId, ...link }: Unsubscription): string {
  const campaign = campaignId === undefined ? '' : uuidOf(campaignId)
  const address = email === undefined ? '' : hashEmail(ctx, email)
  const payload = [...uuids({ ...link, workspaceId: ctx.workspaceId }), campaign, address]
  return urlWithToken(ctx, '/public/unsubscribe', signPayload(ctx.settings.keys.links, 'unsubscribe', payload))
}

/** Opens an unsubscribe token. Forged or damaged: invalid. */
export function openUnsubscribe(ctx: BaseCtx, token: string): OpenedUnsubscription {
  const payload = verifyPayload(ctx.settings.keys.links, 'unsubscribe', token)
  if (!payload) throw invalidLink()
  // Older links end earlier.
  const [, , , campaign = '', emailHash = ''] = payload
  return {
    ...subscriptionOf(payload),
    ...(campaign !== '' && { campaignId: idOf('cmp', String(campaign)) }),
    ...(emailHash !== '' && { emailHash: String(emailHash) }),
  }
}

export const invalidLink = () => new AppError('invalid', 'Invalid or expired link')

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
