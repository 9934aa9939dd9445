/**
 * Opt-in tracking: a pixel tells an opening, a link a click. What a link leads to is inside its signed token, so that
 * nobody can make one that leads elsewhere.
 */
import { type BaseCtx, type Ctx, publicContext } from '../request/context.ts'
import { AppError, isDatabaseUnavailable } from '../kernel/errors.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import { verifyPayload } from '../kernel/crypto.ts'
import { type Engagement, type RecipientKey, recordEngagement } from './engagement.ts'
import type { Tracking } from './templates/track-html.ts'

/** For `trackHtml`, in the mail to one person. */
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

/** Notes an opening, by the token of a pixel. Forged or damaged: invalid. */
export async function recordOpen(base: BaseCtx, token: string): Promise<void> {
  const payload = verifyPayload(base.settings.keys.links, 'open', token)
  if (!payload) throw createInvalidLinkError()
  await tryToRecord(base, payload, 'opened')
}

/** Notes a click, by the token of a link, and answers where it leads. Forged or damaged: invalid. */
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

const createInvalidLinkError = () => new AppError('invalid', 'Invalid or expired link')

/** What cannot be noted now is not noted: the reader is to see the picture and the page all the same. */
async function tryToRecord(base: BaseCtx, [workspace, campaign, contact]: (string | number)[], engagement: Engagement) {
  const ctx = publicContext(base, idOf('wsp', String(workspace)))
  const recipient = { campaignId: idOf('cmp', String(campaign)), contactId: idOf('con', String(contact)) }
  await recordEngagement(ctx, recipient, engagement).catch((error: unknown) => {
    if (!isDatabaseUnavailable(error)) throw error
  })
}
