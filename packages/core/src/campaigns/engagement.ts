/** What people did with a campaign's mail. Each counts once for a person, however often they do it. */
import { sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Ctx } from '../request/context.ts'
import { type CampaignId, type ContactId, Id, uuidOf } from '../kernel/ids.ts'
import { isInLiveWorkspace } from '../workspaces/is-live.ts'

const engagements = ['opened', 'clicked', 'unsubscribed', 'bounced', 'complained'] as const
export type Engagement = (typeof engagements)[number]

/** A person of a campaign, as a link in their mail names them: by the id they had when it was sent. */
export interface RecipientKey {
  campaignId: CampaignId
  contactId: ContactId
}

/**
 * Notes it of a person and in the campaign's sums. Who was not a recipient, or has done it before, changes nothing; nor
 * does anybody where the workspace was deleted.
 */
export async function recordEngagement(ctx: Ctx, recipient: RecipientKey, engagement: Engagement): Promise<void> {
  const [column, counter] = [sql.identifier(`${engagement}_at`), sql.identifier(engagement)]
  await ctx.db.execute(sql`
    with recorded as (
      update campaign_recipients set ${column} = now()
      where workspace_id = ${uuidOf(ctx.workspaceId)} and campaign_id = ${uuidOf(recipient.campaignId)}
        and contact_id = ${uuidOf(recipient.contactId)} and ${column} is null
        and ${isInLiveWorkspace(sql`campaign_recipients.workspace_id`)}
      returning workspace_id, batch_id)
    update campaign_batches b set ${counter} = b.${counter} + 1
    from recorded where b.workspace_id = recorded.workspace_id and b.id = recorded.batch_id`)
}

const RecipientIds = z.object({ campaignId: Id('cmp'), contactId: Id('con') })
const messageIdPattern = /^<?cmp_(\w{26})\.con_(\w{26})@[^@<>\s]+>?$/

/** Whose mail of which campaign a `Message-ID` names; undefined when it is none of a campaign's. */
export function parseMessageId(text: string): RecipientKey | undefined {
  const [, campaign, contact] = messageIdPattern.exec(text) ?? []
  return RecipientIds.safeParse({ campaignId: `cmp_${campaign}`, contactId: `con_${contact}` }).data
}

/** Whether that person was among the campaign's recipients, in this workspace. */
export async function isCampaignRecipient(ctx: Ctx, recipient: RecipientKey): Promise<boolean> {
  const found = await ctx.db.execute(sql`
    select from campaign_recipients
    where workspace_id = ${uuidOf(ctx.workspaceId)} and campaign_id = ${uuidOf(recipient.campaignId)}
      and contact_id = ${uuidOf(recipient.contactId)}`)
  return found.rows.length > 0
}
