import { openRepairedPayload, sealPayload, signPayload, verifyPayload } from '../kernel/crypto.ts'
import { invalidToken } from '../kernel/errors.ts'
import { type CampaignId, type ContactId, idOf, uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { type BaseCtx, type Ctx, pagesUrlOf, requireLinkAtHost } from '../request/context.ts'

/** The contact that received an email, and its address at that time. */
export interface PreferencesLink {
  workspaceId: WorkspaceId
  contactId: ContactId
  email: string
  /** The campaign of the email. */
  campaignId?: CampaignId | undefined
}

const purpose = 'preferences'
const testPurpose = 'preferences-test'

/** Returns the link to the preferences page of a contact. It never expires, like the unsubscribe link. */
export function preferencesUrl(ctx: Ctx, link: Omit<PreferencesLink, 'workspaceId'>): string {
  return urlWithToken(ctx, preferencesToken(ctx, { ...link, workspaceId: ctx.workspaceId }))
}

/** Returns the token of the link, for a page. */
export function preferencesToken(
  base: BaseCtx,
  { workspaceId, contactId, email, campaignId }: PreferencesLink,
): string {
  const campaign = campaignId === undefined ? '' : uuidOf(campaignId)
  return sealPayload(base.settings.keys.links, purpose, [...[workspaceId, contactId].map(uuidOf), email, campaign])
}

/** Opens the token of a link. Throws `invalid_token` if it is forged or damaged, without a database query. */
export function openPreferences(base: BaseCtx, token: string): PreferencesLink {
  const payload = openRepairedPayload(base.settings.keys.links, purpose, token)
  if (!payload) throw invalidToken()
  const [workspace, contact, email, campaign = ''] = payload.map(String)
  const workspaceId = idOf('wsp', workspace ?? '')
  requireLinkAtHost(base, workspaceId)
  return {
    workspaceId,
    contactId: idOf('con', contact ?? ''),
    email: email ?? '',
    ...(campaign !== '' && { campaignId: idOf('cmp', campaign) }),
  }
}

/** Returns the link of a preview or a test email. It shows a page and changes nothing. */
export function testPreferencesUrl(ctx: Ctx): string {
  return urlWithToken(ctx, signPayload(ctx.settings.keys.links, testPurpose, [uuidOf(ctx.workspaceId)]))
}

/** Whether a token is that of a preview or a test email. */
export function isTestPreferences(base: BaseCtx, token: string): boolean {
  const payload = verifyPayload(base.settings.keys.links, testPurpose, token)
  if (payload) requireLinkAtHost(base, idOf('wsp', String(payload[0])))
  return payload !== undefined
}

function urlWithToken(ctx: Ctx, token: string): string {
  return `${pagesUrlOf(ctx)}/public/preferences?token=${token}`
}
