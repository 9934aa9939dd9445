import { AppError } from '../../kernel/errors.ts'
import { hashText } from '../../kernel/values/encode-text.ts'
import { senderOf, type SendingWorkspace } from '../../domains/sender-identity.ts'
import type { Ctx } from '../../request/context.ts'
import { readSegment } from '../../segments/segments.ts'
import type { Campaign } from '../campaigns.schema.ts'

/** A campaign as the caller reviewed it in a report. `sendCampaign` sends nothing else. */
export interface ReviewedCampaign {
  contentHash: string
  willReceive: number
}

type Content = Pick<
  Campaign,
  | 'subject'
  | 'html'
  | 'text'
  | 'listId'
  | 'segmentId'
  | 'fromName'
  | 'fromEmail'
  | 'replyTo'
  | 'trackOpens'
  | 'trackClicks'
  | 'webVersion'
>

/** Hashes the content of a campaign, its list, its segment and its sender. */
export async function hashContent(ctx: Ctx, campaign: Content, workspace: SendingWorkspace): Promise<string> {
  const { subject, html, text, listId, segmentId, replyTo, trackOpens, trackClicks, webVersion } = campaign
  const segment = segmentId && [segmentId, (await readSegment(ctx, segmentId)).filter]
  const { name, address } = await senderOf(ctx, campaign, workspace)
  const content = [subject, html, text, listId, segment, name, address, replyTo, trackOpens, trackClicks, webVersion]
  return hashText(JSON.stringify(content))
}

/** Throws `precondition_failed` if the content is not the reviewed one. Call it with the campaign locked. */
export function requireReviewedContent(reviewed: ReviewedCampaign, contentHash: string): void {
  if (contentHash === reviewed.contentHash) return
  throw new AppError(
    'precondition_failed',
    'The content, list, segment or sender of the campaign has changed since the report',
  )
}

/** Throws `precondition_failed` if the number of recipients is not the reviewed one. */
export function requireReviewedCount({ willReceive }: ReviewedCampaign, queued: number): void {
  if (queued === willReceive) return
  throw new AppError(
    'precondition_failed',
    `The number of recipients has changed since the report, from ${willReceive} to ${queued}`,
  )
}
