/** Sending in two steps: a report, and a token that sends exactly what the report describes. */
import { signPayload, verifyPayload } from '../../kernel/crypto.ts'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { CampaignId, SegmentId } from '../../kernel/ids.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'
import { readList } from '../../lists/lists.ts'
import { senderOf } from '../../domains/sender-identity.ts'
import { requireSender } from '../../domains/senders.ts'
import type { Ctx } from '../../request/context.ts'
import { readSegment } from '../../segments/segments.ts'
import { readWorkspace } from '../../workspaces/workspaces.ts'
import { readAudience } from './read-audience.ts'
import type { Sending } from '../campaigns.schema.ts'
import { createListDeletedError } from '../campaigns.ts'
import { checkCampaign, sendCampaign } from '../send-campaign.ts'
import { hashContent, type ReviewedCampaign } from './reviewed-campaign.ts'
import type { SendingReport } from './sending-report.schema.ts'

const tokenLifetimeMs = 10 * 60 * 1000

/** Reports what `sendCampaign` would do now, after the same checks. Sends and changes nothing. */
export async function reportSending(ctx: Ctx, id: CampaignId, now = Date.now()): Promise<SendingReport> {
  const campaign = await checkCampaign(ctx, id)
  if (campaign.listId === null) throw createListDeletedError()
  const list = await readList(ctx, campaign.listId)
  const workspace = await readWorkspace(ctx)
  await requireSender(ctx, campaign.fromEmail ?? workspace.fromEmail)
  const { willReceive, excluded, unseen } = await readAudience(ctx, id)
  const reviewed = { contentHash: await hashContent(ctx, campaign, workspace), willReceive }
  const expiresAt = now + tokenLifetimeMs
  return {
    campaignId: id,
    name: campaign.name,
    subject: campaign.subject,
    list: { id: list.id, name: list.name },
    segment: campaign.segmentId && (await nameSegment(ctx, campaign.segmentId)),
    from: await senderOf(ctx, campaign, workspace),
    replyTo: campaign.replyTo,
    willReceive,
    excluded,
    unseen,
    confirmationToken: willReceive > 0 ? signToken(ctx, id, { ...reviewed, expiresAt }) : null,
    expiresAt: timestampAt(expiresAt),
  }
}

/**
 * Sends a campaign if it is still what the report of the token describes. Throws `precondition_failed` if the campaign
 * or the number of its recipients has changed, or if the token has expired.
 */
export async function sendReviewedCampaign(
  ctx: Ctx,
  id: CampaignId,
  { confirmationToken, now = Date.now() }: { confirmationToken: string; now?: number },
): Promise<Sending> {
  const payload = verifyPayload(ctx.settings.keys.links, purposeOf(ctx), confirmationToken)
  if (payload?.[0] !== id)
    throw invalidField('confirmationToken', 'confirmationToken: is not the token of a report about this campaign')
  const [, contentHash, willReceive, expiresAt] = payload
  if (now >= Number(expiresAt)) throw new AppError('precondition_failed', 'The token has expired')
  return sendCampaign(ctx, id, { contentHash: String(contentHash), willReceive: Number(willReceive) })
}

async function nameSegment(ctx: Ctx, segmentId: SegmentId) {
  const { id, name } = await readSegment(ctx, segmentId)
  return { id, name }
}

function signToken(ctx: Ctx, id: CampaignId, reviewed: ReviewedCampaign & { expiresAt: number }): string {
  const { contentHash, willReceive, expiresAt } = reviewed
  return signPayload(ctx.settings.keys.links, purposeOf(ctx), [id, contentHash, willReceive, expiresAt])
}

const purposeOf = ({ workspaceId }: Ctx) => `send ${workspaceId}`
