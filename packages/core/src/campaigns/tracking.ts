/**
 * Tracking of opens and clicks: a pixel records an open, and a link records a click. The target URL of a link is part of
 * its signed token, so that a third party cannot create a link to another URL. A token names the recipient only if the
 * mail tracks it as a person.
 */
import { findCurrentContact } from '../contacts/contact-aliases.ts'
import { type BaseCtx, type Ctx, pagesUrlOf, publicContext, requireLinkAtHost } from '../request/context.ts'
import { isDatabaseUnavailable } from '../db/database-errors.ts'
import { invalidLink } from '../kernel/errors.ts'
import { type CampaignId, type ContactId, idOf, uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { verifyPayload } from '../kernel/crypto.ts'
import { isSuspended } from '../request/workspace-state.ts'
import { readTrackingChoices } from '../consent/tracking/tracking-consents.ts'
import type { TrackedAction, TrackingLevel, TrackingLevels } from '../consent/tracking/tracking-level.ts'
import type { Tracking } from '../rendering/track-html.ts'
import { countAnonymously, type RecipientKey, recordEngagement } from './engagement.ts'
import { countLinkClick } from './link-clicks.ts'

/** Creates the input of `trackHtml` for the mail of one recipient. Undefined if the mail tracks nothing. */
export function createTracking(
  ctx: Ctx,
  { recipient, opens, clicks }: { recipient: RecipientKey } & TrackingLevels,
): Tracking | undefined {
  if (opens === 'OFF' && clicks === 'OFF') return undefined
  const campaign = [ctx.workspaceId, recipient.campaignId].map(uuidOf)
  const payloadAt = (level: TrackingLevel) =>
    level === 'OFF' ? undefined : [...campaign, level === 'PERSON' ? uuidOf(recipient.contactId) : '']
  const { publicUrl, keys } = ctx.settings
  return {
    pagesUrl: pagesUrlOf(ctx),
    publicUrl,
    key: keys.links[0],
    opens: payloadAt(opens),
    clicks: payloadAt(clicks),
    onlySharedLinks: clicks === 'ANONYMOUS',
  }
}

/** What a token says. Without a `contactId`, it is the same in the mails of all recipients. */
interface TrackedMail {
  workspaceId: WorkspaceId
  campaignId: CampaignId
  contactId: ContactId | undefined
  /** The target of a link. */
  url: string
}

/** Opens the token of a pixel. Throws `invalid_token` if it is forged or damaged. */
export const openPixel = (base: BaseCtx, token: string) => openToken(base, 'open', token)

/** The same for the token of a link. */
export const openTrackedLink = (base: BaseCtx, token: string) => openToken(base, 'click', token)

function openToken(base: BaseCtx, purpose: 'open' | 'click', token: string): TrackedMail {
  const payload = verifyPayload(base.settings.keys.links, purpose, token)
  if (!payload) throw invalidLink()
  const [workspace = '', campaign = '', contact = '', url = ''] = payload.map(String)
  const workspaceId = idOf('wsp', workspace)
  requireLinkAtHost(base, workspaceId)
  const contactId = contact === '' ? undefined : idOf('con', contact)
  return { workspaceId, campaignId: idOf('cmp', campaign), contactId, url }
}

/** Records an open. Throws `invalid_token` if the token of the pixel is forged or damaged. */
export async function recordOpen(base: BaseCtx, token: string, { shouldRecord }: { shouldRecord: boolean }) {
  const mail = openPixel(base, token)
  if (shouldRecord) await tryToRecord(base, mail, 'opens')
}

/** Records a click and returns the target URL of the link. Throws `invalid_token` if the token is forged or damaged. */
export async function resolveTrackedLink(
  base: BaseCtx,
  token: string,
  { shouldRecord }: { shouldRecord: boolean },
): Promise<string> {
  const mail = openTrackedLink(base, token)
  if (shouldRecord) await tryToRecord(base, mail, 'clicks')
  return new URL(mail.url).href
}

const engagementOf = { opens: 'opened', clicks: 'clicked' } as const

/**
 * Records nothing while the workspace is suspended or the database is unavailable: the reader still gets the image or
 * the page.
 */
async function tryToRecord(
  base: BaseCtx,
  { workspaceId, campaignId, contactId, url }: TrackedMail,
  action: TrackedAction,
) {
  const ctx = publicContext(base, workspaceId)
  const countLink = async (isAnonymous: boolean) => {
    if (action === 'clicks') await countLinkClick(ctx, { campaignId, url, isAnonymous })
  }
  const record = async () => {
    if (await isSuspended(ctx)) return
    if (!contactId) {
      await countAnonymously(ctx, campaignId, action)
      return countLink(true)
    }
    if (await isSilent(ctx, contactId, action)) return
    await recordEngagement(ctx, { campaignId, contactId }, engagementOf[action])
    await countLink(false)
  }
  await record().catch((error: unknown) => {
    if (!isDatabaseUnavailable(error)) throw error
  })
}

/** Whether the contact was deleted, or has denied since the mail was sent. */
async function isSilent(ctx: Ctx, contactId: ContactId, action: TrackedAction): Promise<boolean> {
  const contact = await findCurrentContact(ctx, contactId)
  return !contact || (await readTrackingChoices(ctx, contact))[action] === 'DENIED'
}
