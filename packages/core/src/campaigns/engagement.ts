/** Opens, clicks, unsubscribes, bounces and complaints of a campaign. Each kind is counted once per recipient. */
import { type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { composedStatement } from '../db/statements/named-statement.ts'
import { int } from '../db/statements/sql-types.ts'
import { createCommittedCounter } from '../events/committed-counter.ts'
import type { Ctx } from '../request/context.ts'
import { type CampaignId, type ContactId, Id, uuidOf } from '../kernel/ids.ts'
import type { TrackedAction } from '../consent/tracking/tracking-level.ts'
import { isInLiveWorkspace } from '../request/workspace-state.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

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

/** Like `recordEngagements`, for one recipient. */
export async function recordEngagement(ctx: Ctx, recipient: RecipientKey, engagement: Engagement): Promise<void> {
  await recordEngagements(ctx, [recipient], engagement)
}

/**
 * Records an engagement for each recipient and in the counters of the campaigns. No-op for those of which it is already
 * recorded, for contacts that are no recipients of the campaign, and if the workspace was deleted.
 */
export async function recordEngagements(
  ctx: Ctx,
  recipients: readonly RecipientKey[],
  engagement: Engagement,
): Promise<void> {
  if (recipients.length === 0) return
  const [column, counter] = [sql.identifier(`${engagement}_at`), sql.identifier(engagement)]
  const workspaceId = uuidOf(ctx.workspaceId)
  const rows = await recordAndCount(
    ctx.db,
    sql`
    with recorded as (
      update campaign_recipients r set ${column} = ${timestampNow()}::timestamptz
      from ${givenRecipients(recipients)}
      where r.workspace_id = ${workspaceId} and r.campaign_id = given.campaign_id
        and r.contact_id = given.contact_id and r.${column} is null and ${isInLiveWorkspace(sql`r.workspace_id`)}
      returning r.batch_id),
    counted as (select batch_id, count(*)::int as number from recorded group by batch_id)
    update campaign_batches b set ${counter} = b.${counter} + number
    from counted where b.workspace_id = ${workspaceId} and b.id = counted.batch_id
    returning number`,
  )
  const count = rows.reduce((sum, { number }) => sum + number, 0)
  if (count > 0) recordedEngagements.add(ctx.db, { kind: engagement }, count)
}

const recordAndCount = composedStatement('record engagements', { columns: { number: int } })

/** A FROM item `given (campaign_id, contact_id)`. */
function givenRecipients(recipients: readonly RecipientKey[]): SQL {
  const campaignIds = recipients.map(({ campaignId }) => uuidOf(campaignId))
  const contactIds = recipients.map(({ contactId }) => uuidOf(contactId))
  return sql`unnest(${sql.param(campaignIds)}::uuid[], ${sql.param(contactIds)}::uuid[]) as given (campaign_id, contact_id)`
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

const RecipientIds = z.object({ campaignId: Id('cmp'), contactId: Id('con') })
const messageIdPattern = /^<?cmp_(\w{26})\.con_(\w{26})@[^@<>\s]+>?$/

/** Parses the `Message-ID` of a campaign mail. Returns undefined for any other `Message-ID`. */
export function parseMessageId(text: string): RecipientKey | undefined {
  const [, campaign, contact] = messageIdPattern.exec(text) ?? []
  return RecipientIds.safeParse({ campaignId: `cmp_${campaign}`, contactId: `con_${contact}` }).data
}
