import { and, eq, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { campaigns } from '../db/schema/index.ts'
import { emit } from '../events/emit.ts'
import { enqueueMany } from '../jobs/outbox.ts'
import { wakeForOutbox } from '../jobs/wake-relays.ts'
import { AppError, notFound } from '../kernel/errors.ts'
import { type CampaignId, uuidOf } from '../kernel/ids.ts'
import { lockList } from '../lists/lists.ts'
import { checkSender } from '../mail/senders.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'
import { campaignSending } from './campaign-events.ts'
import { type CampaignRow, createNotDraftError, toCampaign } from './campaigns.ts'
import type { SendResult } from './campaigns.schema.ts'

/** Recipients per batch, which is one job: small enough to end soon, large enough that a million need few jobs. */
const batchSize = 200

/**
 * Starts sending a DRAFT to the subscribers that are CONFIRMED on its list now, and returns their exact number. The
 * transaction is short for any list: it writes one row per batch, not per recipient. Of two concurrent calls, one is a
 * conflict.
 */
export function sendCampaign(ctx: Ctx, id: CampaignId): Promise<SendResult> {
  return inTransaction(ctx, async (ctx) => {
    const now = new Date()
    const [draft] = await ctx.db
      .update(campaigns)
      .set({ status: 'SENDING', sentAt: now, updatedAt: now })
      .where(and(byId(campaigns, ctx, id), eq(campaigns.status, 'DRAFT')))
      .returning()
    if (!draft) throw await createNotDraftError(ctx, id, 'sent')
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
    // The audit action records the request, at the start. The event of the same name is emitted at completion, see
    // `finishBatch`. Both are stored values, so they keep their names.
    await audit(ctx, 'campaign.sent', { subjectId: id, queued })
    return { queued }
  })
}

/**
 * Writes the CONFIRMED subscribers of the list to batches, enqueues the batches, and returns the number of
 * subscribers.
 */
async function snapshotAudience(ctx: Ctx, campaign: CampaignRow): Promise<number> {
  if (campaign.listId === null || !(await lockList(ctx, campaign.listId))) return 0
  const workspaceId = sql`${uuidOf(ctx.workspaceId)}::uuid`
  // Keeps the ids of a million subscribers in memory: on disk, the statement takes twice as long.
  await ctx.db.execute(sql`set local work_mem = '64MB'`)
  // One array that is cut into slices: `row_number()` and grouping take twice as long.
  const result = await ctx.db.execute<{ queued: number }>(sql`
    with audience as materialized (
      -- Without ORDER BY: the order of sending is not defined.
      select array_agg(contact_id) as ids from subscriptions
      where workspace_id = ${workspaceId} and list_id = ${uuidOf(campaign.listId)}::uuid and status = 'CONFIRMED'),
    batches as (
      insert into campaign_batches (workspace_id, id, campaign_id, contact_ids)
      select ${workspaceId}, uuidv7(), ${uuidOf(campaign.id)}::uuid, ids[first : first + ${batchSize}::int - 1]
      from audience cross join generate_series(1, cardinality(ids), ${batchSize}::int) as first
      returning workspace_id, id, cardinality(contact_ids) as size),
    ${enqueueMany(ctx, 'campaigns', 'batches')}
    select coalesce(sum(size), 0)::int as queued from batches`)
  wakeForOutbox(ctx.db)
  return result.rows[0]?.queued ?? 0
}
