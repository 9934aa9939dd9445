import type { BaseCtx, Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { idOf, uuidOf } from '../ids.ts'
import { openPayload, signPayload } from '../secrets.ts'

/** One contact's subscription to one list, as a link in a mail names it. */
export interface SubscriptionLink {
  workspaceId: string
  listId: string
  contactId: string
}

const confirmationLifetimeMs = 7 * 24 * 60 * 60 * 1000

/** The link that confirms a subscription, good for seven days from `issuedAt`. The same input gives the same link. */
export function confirmationUrl(ctx: Ctx, link: { listId: string; contactId: string; issuedAt: Date }): string {
  const payload = [...uuids({ ...link, workspaceId: ctx.workspaceId }), link.issuedAt.getTime()]
  return urlWithToken(ctx, '/public/subscriptions/confirm', signPayload(ctx.settings.keys.links, 'confirm', payload))
}

/** Opens a confirmation token. Forged, damaged or expired: invalid, without a look at the database. */
export function openConfirmation(ctx: BaseCtx, token: string, now = Date.now()): SubscriptionLink & { issuedAt: Date } {
  const payload = openPayload(ctx.settings.keys.links, 'confirm', token)
  const issuedAt = Number(payload?.[3])
  if (!payload || now - issuedAt > confirmationLifetimeMs) throw invalidLink()
  return { ...subscriptionOf(payload), issuedAt: new Date(issuedAt) }
}

/** The link that unsubscribes, good for ever. `campaignId`: the campaign whose mail it stands in. */
export function unsubscribeUrl(ctx: Ctx, link: { listId: string; contactId: string; campaignId?: string }): string {
  const campaign = link.campaignId === undefined ? [] : [uuidOf(link.campaignId)]
  const payload = [...uuids({ ...link, workspaceId: ctx.workspaceId }), ...campaign]
  return urlWithToken(ctx, '/public/unsubscribe', signPayload(ctx.settings.keys.links, 'unsubscribe', payload))
}

/** Opens an unsubscribe token. Forged or damaged: invalid. */
export function openUnsubscribe(ctx: BaseCtx, token: string): SubscriptionLink & { campaignId?: string } {
  const payload = openPayload(ctx.settings.keys.links, 'unsubscribe', token)
  if (!payload) throw invalidLink()
  const [, , , campaign] = payload
  return { ...subscriptionOf(payload), ...(campaign !== undefined && { campaignId: idOf('cmp', String(campaign)) }) }
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
