import { and, eq, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { campaigns } from '../db/schema/index.ts'
import { emit } from '../events/emit.ts'
import { enqueueMany, originOf } from '../jobs/outbox.ts'
import { AppError, notFound } from '../kernel/errors.ts'
import { type CampaignId, uuidOf } from '../kernel/ids.ts'
import { lockList } from '../lists/lists.ts'
import { checkSender } from '../mail/senders.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'
import { campaignSending } from './campaign-events.ts'
import { type CampaignRow, notADraft, toCampaign } from './campaigns.ts'
import type { SendResult } from './campaigns.schema.ts'

/** Recipients per batch, which is one job: small enough to end soon, large enough that a million need few jobs. */
const batchSize = 200

/**
 * Queues a DRAFT to everyone who is confirmed on its list at this instant, and answers how many that is, exactly.
 * One short transaction however long the list: people go into batches, not rows. Of two sends at once, one conflicts.
 */
export function sendCampaign(ctx: Ctx, id: CampaignId): Promise<SendResult> {
  return inTransaction(ctx, async (ctx) => {
    const now = new Date()
    const [draft] = await ctx.db
      .update(campaigns)
      .set({ status: 'SENDING', sentAt: now, updatedAt: now })
      .where(and(byId(campaigns, ctx, id), eq(campaigns.status, 'DRAFT')))
      .returning()
    if (!draft) throw await notADraft(ctx, id, 'sent')
    checkSender(ctx, draft.fromEmail ?? (await readWorkspace(ctx)).fromEmail)
    const queued = await snapshotAudience(ctx, draft)
    if (queued === 0) throw new AppError('invalid', 'List has no subscribed recipients')
    const [sending] = await ctx.db
      .update(campaigns)
      .set({ queued })
      .where(byId(campaigns, ctx, id))
      .returning()
    if (!sending) throw notFound('Campaign')
    await emit(ctx, campaignSending, toCampaign(sending))
    await audit(ctx, 'campaign.sent', { subjectId: id, queued })
    return { queued }
  })
}

async function snapshotAudience(ctx: Ctx, campaign: CampaignRow): Promise<number> {
  if (campaign.listId === null || !(await lockList(ctx, campaign.listId))) return 0
  const workspaceId = sql`${uuidOf(ctx.workspaceId)}::uuid`
  // The ids of a million people are held in memory: on disk it would take as long again.
  await ctx.db.execute(sql`set local work_mem = '64MB'`)
  // Gathered in one array that is cut into batches, as to number and group them would take twice as long.
  const result = await ctx.db.execute<{ queued: number }>(sql`
    with audience as materialized (
      -- In any order: nobody is promised to be the first.
      select array_agg(contact_id) as ids from subscriptions
      where workspace_id = ${workspaceId} and list_id = ${uuidOf(campaign.listId)}::uuid and status = 'CONFIRMED'),
    batches as (
      insert into campaign_batches (workspace_id, id, campaign_id, contact_ids)
      select ${workspaceId}, uuidv7(), ${uuidOf(campaign.id)}::uuid, ids[first : first + ${batchSize}::int - 1]
      from audience cross join generate_series(1, cardinality(ids), ${batchSize}::int) as first
      returning workspace_id, id, cardinality(contact_ids) as size),
    ${enqueueMany('campaigns', 'batches', originOf(ctx))}
    select coalesce(sum(size), 0)::int as queued, (select count(*) from notified) from batches`)
  return result.rows[0]?.queued ?? 0
}
