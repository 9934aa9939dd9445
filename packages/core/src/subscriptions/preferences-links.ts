import { signPayload, verifyPayload } from '../kernel/crypto.ts'
import { invalidToken } from '../kernel/errors.ts'
import { type CampaignId, type ContactId, idOf, uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { hashEmail } from './hash-email.ts'

/** The contact that received an email, and the hash of its address at that time. */
export interface PreferencesLink {
  workspaceId: WorkspaceId
  contactId: ContactId
  emailHash: string
  /** The campaign of the email. */
  campaignId?: CampaignId | undefined
}

interface Recipient {
  contactId: ContactId
  email: string
  campaignId?: CampaignId
}

const purpose = 'preferences'
const testPurpose = 'preferences-test'

/** Returns the link to the preferences page of a contact. It never expires, like the unsubscribe link. */
export function preferencesUrl(ctx: Ctx, { email, ...link }: Recipient): string {
  const token = preferencesToken(ctx, { ...link, workspaceId: ctx.workspaceId, emailHash: hashEmail(ctx, email) })
  return urlWithToken(ctx, token)
}

/** Returns the token of the link, for a page that knows only the hash of the address. */
export function preferencesToken(
  base: BaseCtx,
  { workspaceId, contactId, emailHash, campaignId }: PreferencesLink,
): string {
  const campaign = campaignId === undefined ? '' : uuidOf(campaignId)
  return signPayload(base.settings.keys.links, purpose, [...[workspaceId, contactId].map(uuidOf), emailHash, campaign])
}

/** Opens the token of a link. Throws `invalid_token` if it is forged or damaged, without a database query. */
export function openPreferences(base: BaseCtx, token: string): PreferencesLink {
  const payload = verifyPayload(base.settings.keys.links, purpose, token)
  if (!payload) throw invalidToken()
  const [workspace, contact, emailHash, campaign = ''] = payload.map(String)
  return {
    workspaceId: idOf('wsp', workspace ?? ''),
    contactId: idOf('con', contact ?? ''),
    emailHash: emailHash ?? '',
    ...(campaign !== '' && { campaignId: idOf('cmp', campaign) }),
  }
}

/** Returns the link of a preview or a test email. It shows a page and changes nothing. */
export function testPreferencesUrl(ctx: Ctx): string {
  return urlWithToken(ctx, signPayload(ctx.settings.keys.links, testPurpose, [uuidOf(ctx.workspaceId)]))
}

/** Whether a token is that of a preview or a test email. */
export function isTestPreferences(base: BaseCtx, token: string): boolean {
  return verifyPayload(base.settings.keys.links, testPurpose, token) !== undefined
}

function urlWithToken(ctx: Ctx, token: string): string {
  return `${ctx.settings.publicUrl}/public/preferences?token=${token}`
}
