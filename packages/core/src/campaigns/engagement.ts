/** Opens, clicks, unsubscribes, bounces and complaints of a campaign. Each kind is counted once per recipient. */
import { and, eq, inArray, isNotNull, or, sql } from 'drizzle-orm'
import { z } from 'zod'
import { selectMergedIds } from '../contacts/contact-aliases.ts'
import { campaignRecipients } from '../db/schema/index.ts'
import { createCommittedCounter } from '../events/committed-counter.ts'
import type { Ctx } from '../request/context.ts'
import { type CampaignId, type ContactId, Id, uuidOf } from '../kernel/ids.ts'
import type { Bounce } from '../mail/bounces/classify-bounce.ts'
import { hashProviderMessageId } from '../mail/providers/provider-message-id.ts'
import type { TrackedAction } from '../consent/tracking/tracking-level.ts'
import { isInLiveWorkspace } from '../workspaces/is-live.ts'
import type { Timestamp } from '../kernel/validation.ts'
import { timestampNow } from '../kernel/validation.ts'

export const engagements = ['opened', 'clicked', 'unsubscribed', 'bounced', 'complained'] as const
export type Engagement = (typeof engagements)[number]

/** Counts what `recordEngagement` records. */
export const recordedEngagements = createCommittedCounter({
  name: 'campaign_engagements_total',
  help: 'Opens, clicks, unsubscribes, bounces and complaints, once per recipient of a campaign',
  labelNames: ['kind'],
})

/** Identifies a recipient in a link of a mail. `contactId` is the id at the time of sending, before any merge. */
export interface RecipientKey {
  campaignId: CampaignId
  contactId: ContactId
}

/**
 * Records an engagement for the recipient and in the counters of the campaign. No-op if it is already recorded, if the
 * contact is not a recipient of the campaign, or if the workspace was deleted.
 */
export async function recordEngagement(ctx: Ctx, recipient: RecipientKey, engagement: Engagement): Promise<void> {
  const [column, counter] = [sql.identifier(`${engagement}_at`), sql.identifier(engagement)]
  const { rowCount } = await ctx.db.execute(sql`
    with recorded as (
      update campaign_recipients set ${column} = ${timestampNow()}::timestamptz
      where workspace_id = ${uuidOf(ctx.workspaceId)} and campaign_id = ${uuidOf(recipient.campaignId)}
        and contact_id = ${uuidOf(recipient.contactId)} and ${column} is null
        and ${isInLiveWorkspace(sql`campaign_recipients.workspace_id`)}
      returning batch_id)
    update campaign_batches b set ${counter} = b.${counter} + 1
    from recorded where b.workspace_id = ${uuidOf(ctx.workspaceId)} and b.id = recorded.batch_id`)
  if (rowCount) recordedEngagements.add(ctx.db, { kind: engagement }, 1)
}

/**
 * Counts an open or a click that belongs to no recipient. Any of the first batches counts it, so that the readers of a
 * campaign rarely wait for each other, and the counter does not tell which recipients it concerns.
 */
export async function countAnonymously(ctx: Ctx, campaignId: CampaignId, action: TrackedAction): Promise<void> {
  const counter = sql.identifier(`anonymous_${action}`)
  await ctx.db.execute(sql`
    update campaign_batches b set ${counter} = b.${counter} + 1
    where b.workspace_id = ${uuidOf(ctx.workspaceId)} and ${isInLiveWorkspace(sql`b.workspace_id`)} and b.id = (
      select ids[1 + floor(${Math.random()}::float8 * cardinality(ids))::int]
      from (select array(
        select id from campaign_batches
        where workspace_id = ${uuidOf(ctx.workspaceId)} and campaign_id = ${uuidOf(campaignId)}
        limit ${countingBatches}) as ids) as counting)`)
}

const countingBatches = 16

/** Records the class and code of a bounce. A HARD bounce replaces an earlier one, and stays. */
export async function recordBounce(ctx: Ctx, recipient: RecipientKey, bounce: Bounce): Promise<void> {
  await ctx.db
    .update(campaignRecipients)
    .set({ bounceClass: bounce.class, bounceCode: bounce.code })
    .where(and(isRecipient(ctx, recipient), sql`${campaignRecipients.bounceClass} is distinct from 'HARD'`))
}

/** When a worker first claimed the recipient, to send the mail. */
export async function findMailedAt(ctx: Ctx, recipient: RecipientKey): Promise<Timestamp | undefined> {
  const [row] = await ctx.db
    .select({ createdAt: campaignRecipients.createdAt })
    .from(campaignRecipients)
    .where(isRecipient(ctx, recipient))
  return row?.createdAt
}

/** When the mails of campaigns were sent to a contact, and to the contacts that were merged into it. */
export async function listMailedAt(ctx: Ctx, contactId: ContactId): Promise<Timestamp[]> {
  const rows = await ctx.db
    .select({ createdAt: campaignRecipients.createdAt })
    .from(campaignRecipients)
    .where(
      and(
        eq(campaignRecipients.workspaceId, ctx.workspaceId),
        sql`${campaignRecipients.contactId} in (${selectMergedIds(ctx, contactId)})`,
        or(
          inArray(campaignRecipients.status, ['SENDING', 'SENT']),
          and(eq(campaignRecipients.status, 'FAILED'), isNotNull(campaignRecipients.bounceClass)),
        ),
      ),
    )
  return rows.map(({ createdAt }) => createdAt)
}

const isRecipient = (ctx: Ctx, { campaignId, contactId }: RecipientKey) =>
  and(
    eq(campaignRecipients.workspaceId, ctx.workspaceId),
    eq(campaignRecipients.campaignId, campaignId),
    eq(campaignRecipients.contactId, contactId),
  )

const RecipientIds = z.object({ campaignId: Id('cmp'), contactId: Id('con') })
const messageIdPattern = /^<?cmp_(\w{26})\.con_(\w{26})@[^@<>\s]+>?$/

/** Parses the `Message-ID` of a campaign mail. Returns undefined for any other `Message-ID`. */
export function parseMessageId(text: string): RecipientKey | undefined {
  const [, campaign, contact] = messageIdPattern.exec(text) ?? []
  return RecipientIds.safeParse({ campaignId: `cmp_${campaign}`, contactId: `con_${contact}` }).data
}

/** Finds the recipient of an email by the id that the mail server gave it. */
export async function findRecipientByProviderId(
  ctx: Ctx,
  providerMessageId: string,
): Promise<RecipientKey | undefined> {
  const { campaignId, contactId } = campaignRecipients
  const [recipient] = await ctx.db
    .select({ campaignId, contactId })
    .from(campaignRecipients)
    .where(
      and(
        eq(campaignRecipients.workspaceId, ctx.workspaceId),
        eq(campaignRecipients.providerMessageHash, hashProviderMessageId(providerMessageId)),
      ),
    )
    .limit(1)
  return recipient
}

export const isCampaignRecipient = async (ctx: Ctx, recipient: RecipientKey): Promise<boolean> =>
  (await findMailedAt(ctx, recipient)) !== undefined

/** Finds the campaign of a recipient by the last hexadecimal digits of its id. */
export async function findCampaignOfRecipient(
  ctx: Ctx,
  { contactId, campaignSuffix }: { contactId: ContactId; campaignSuffix: string },
): Promise<CampaignId | undefined> {
  const [found] = await ctx.db
    .select({ campaignId: campaignRecipients.campaignId })
    .from(campaignRecipients)
    .where(
      and(
        eq(campaignRecipients.workspaceId, ctx.workspaceId),
        eq(campaignRecipients.contactId, contactId),
        sql`right(${campaignRecipients.campaignId}::text, ${campaignSuffix.length}) = ${campaignSuffix}`,
      ),
    )
  return found?.campaignId
}
