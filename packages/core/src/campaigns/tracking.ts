/**
 * Opt-in tracking: a pixel records an open, and a link records a click. The target URL of a link is part of its signed
 * token, so that a third party cannot create a link to another URL.
 */
import { type BaseCtx, type Ctx, publicContext } from '../request/context.ts'
import { isDatabaseUnavailable } from '../db/database-errors.ts'
import { AppError } from '../kernel/errors.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import { verifyPayload } from '../kernel/crypto.ts'
import { isSuspended } from '../request/suspended-workspace.ts'
import { type Engagement, type RecipientKey, recordEngagement } from './engagement.ts'
import type { Tracking } from './templates/track-html.ts'

/** Creates the input of `trackHtml` for the mail of one recipient. */
export function createTracking(
  ctx: Ctx,
  { recipient, ...options }: { recipient: RecipientKey; opens: boolean; clicks: boolean },
): Tracking {
  const { publicUrl, keys } = ctx.settings
  return {
    ...options,
    publicUrl,
    key: keys.links[0],
    payload: [ctx.workspaceId, recipient.campaignId, recipient.contactId].map(uuidOf),
  }
}

/** Records an open. Throws `invalid_token` if the token of the pixel is forged or damaged. */
export async function recordOpen(base: BaseCtx, token: string, { shouldRecord }: { shouldRecord: boolean }) {
  const payload = verifyPayload(base.settings.keys.links, 'open', token)
  if (!payload) throw createInvalidLinkError()
  if (shouldRecord) await tryToRecord(base, payload, 'opened')
}

/** Records a click and returns the target URL of the link. Throws `invalid_token` if the token is forged or damaged. */
export async function resolveTrackedLink(
  base: BaseCtx,
  token: string,
  { shouldRecord }: { shouldRecord: boolean },
): Promise<string> {
  const payload = verifyPayload(base.settings.keys.links, 'click', token)
  if (!payload) throw createInvalidLinkError()
  if (shouldRecord) await tryToRecord(base, payload, 'clicked')
  return new URL(String(payload[3])).href
}

const createInvalidLinkError = () => new AppError('invalid_token', 'Invalid or expired link')

/**
 * Records nothing while the workspace is suspended or the database is unavailable: the reader still gets the image or
 * the page.
 */
async function tryToRecord(base: BaseCtx, [workspace, campaign, contact]: (string | number)[], engagement: Engagement) {
  const ctx = publicContext(base, idOf('wsp', String(workspace)))
  const recipient = { campaignId: idOf('cmp', String(campaign)), contactId: idOf('con', String(contact)) }
  const record = async () => (await isSuspended(ctx)) || recordEngagement(ctx, recipient, engagement)
  await record().catch((error: unknown) => {
    if (!isDatabaseUnavailable(error)) throw error
  })
}
