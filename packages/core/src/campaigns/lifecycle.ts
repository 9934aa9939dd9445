/**
 * Pause, resume, cancel and retry. Each takes the campaign's row first, as the end of a batch does, so that they come
 * one after the other. Workers ask for the campaign's status with every group they claim, and so act within a group.
 */
import { and, eq, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { conflict, notFound } from '../kernel/errors.ts'
import { emit } from '../events/emit.ts'
import { type CampaignId, uuidOf } from '../kernel/ids.ts'
import { timeOfUpdate } from '../kernel/time-of-update.ts'
import { enqueueMany, originOf, requeueWork } from '../jobs/outbox.ts'
import { campaignBatches, campaigns } from '../db/schema/index.ts'
import { type Campaign, type RetryInput, type SendResult } from './campaigns.schema.ts'
import { type CampaignRow, toCampaign } from './campaigns.ts'
import { updateRecipientCounters } from './recipient-counters.ts'
import { campaignCanceled, campaignSending } from './campaign-events.ts'

/** Stops sending; whose turn has not come stays pending. `reason` is the system's, where a person gives none. */
export function pauseCampaign(ctx: Ctx, id: CampaignId, reason: string | null = null): Promise<Campaign> {
  return inTransaction(ctx, async (ctx) => {
    const campaign = await lockCampaign(ctx, id)
    if (campaign.status === 'PAUSED') return toCampaign(campaign)
    mustBe(campaign, ['SENDING'], 'paused')
    return setStatus(ctx, campaign, { status: 'PAUSED', pauseReason: reason })
  })
}

/** Goes on with a PAUSED campaign where it stood. */
export function resumeCampaign(ctx: Ctx, id: CampaignId): Promise<Campaign> {
  return inTransaction(ctx, async (ctx) => {
    const campaign = await lockCampaign(ctx, id)
    if (campaign.status === 'SENDING') return toCampaign(campaign)
    mustBe(campaign, ['PAUSED'], 'resumed')
    await requeueOpenBatches(ctx, id)
    return setStatus(ctx, campaign, { status: 'SENDING', pauseReason: null })
  })
}

/**
 * Ends a campaign for good. Mails that are on their way at this instant still arrive; everyone else becomes SKIPPED,
 * batch by batch, and `completedAt` says when the last one has.
 */
export function cancelCampaign(ctx: Ctx, id: CampaignId): Promise<Campaign> {
  return inTransaction(ctx, async (ctx) => {
    const campaign = await lockCampaign(ctx, id)
    if (campaign.status === 'CANCELED') return toCampaign(campaign)
    mustBe(campaign, ['SENDING', 'PAUSED'], 'canceled')
    await requeueOpenBatches(ctx, id)
    const canceled = await setStatus(ctx, campaign, { status: 'CANCELED', pauseReason: null })
    await emit(ctx, campaignCanceled, canceled)
    return canceled
  })
}

/**
 * Puts who FAILED, and if asked who was INTERRUPTED, back into waiting, and answers how many that are. A campaign that
 * was SENT is SENDING again; one that is PAUSED stays so. Of two at once the second finds nobody left.
 */
export function retryCampaign(ctx: Ctx, id: CampaignId, { includeInterrupted }: RetryInput): Promise<SendResult> {
  return inTransaction(ctx, async (ctx) => {
    const campaign = await lockCampaign(ctx, id)
    mustBe(campaign, ['SENDING', 'PAUSED', 'SENT'], 'retried')
    const batches = await findUnsentBatches(ctx, id, includeInterrupted)
    let queued = 0
    for (let start = 0; start < batches.length; start += batchesAtOnce) {
      const uuids = batches.slice(start, start + batchesAtOnce)
      queued += await reopenRecipients(ctx, uuids, includeInterrupted)
      await reopenBatches(ctx, uuids)
    }
    if (queued > 0 && campaign.status === 'SENT') {
      const sending = await setStatus(ctx, campaign, { status: 'SENDING', completedAt: null })
      await emit(ctx, campaignSending, sending)
    }
    if (queued > 0) await audit(ctx, 'campaign.retried', { subjectId: id, queued })
    return { queued }
  })
}

/** So many that one statement stays well within its time, at two hundred people each. */
const batchesAtOnce = 250

async function lockCampaign(ctx: Ctx, id: CampaignId): Promise<CampaignRow> {
  const [row] = await ctx.db
    .select()
    .from(campaigns)
    .where(byId(campaigns, ctx, id))
    .for('no key update')
  if (!row) throw notFound('Campaign')
  return row
}

function mustBe({ status }: CampaignRow, allowed: CampaignRow['status'][], what: string) {
  if (allowed.includes(status)) return
  throw conflict(`Only a campaign that is ${allowed.join(' or ')} can be ${what}: this campaign is ${status}`)
}

type Change = Partial<Pick<CampaignRow, 'status' | 'pauseReason' | 'completedAt'>>

async function setStatus(ctx: Ctx, current: CampaignRow, change: Change): Promise<Campaign> {
  const saved = { ...current, ...change, updatedAt: timeOfUpdate(current.updatedAt) }
  await ctx.db
    .update(campaigns)
    .set(saved)
    .where(byId(campaigns, ctx, current.id))
  return toCampaign(saved)
}

/** Jobs that came while the campaign was paused found nothing to do and are gone from the queue: they come again. */
async function requeueOpenBatches(ctx: Ctx, id: CampaignId) {
  const open = await ctx.db
    .select({ id: campaignBatches.id })
    .from(campaignBatches)
    .where(
      and(
        eq(campaignBatches.workspaceId, ctx.workspaceId),
        eq(campaignBatches.campaignId, id),
        sql`${campaignBatches.status} <> 'DONE'`,
      ),
    )
    .orderBy(campaignBatches.id)
  await requeueWork(
    ctx.db,
    open.map((batch) => uuidOf(batch.id)),
  )
}

async function findUnsentBatches(ctx: Ctx, id: CampaignId, includeInterrupted: boolean): Promise<string[]> {
  const isUnsent = includeInterrupted
    ? sql`${campaignBatches.failed} + ${campaignBatches.interrupted} > 0`
    : sql`${campaignBatches.failed} > 0`
  const rows = await ctx.db
    .select({ id: campaignBatches.id })
    .from(campaignBatches)
    .where(and(eq(campaignBatches.workspaceId, ctx.workspaceId), eq(campaignBatches.campaignId, id), isUnsent))
  return rows.map((row) => uuidOf(row.id))
}

/** The worker that had them is forgotten, so that its late truth about the earlier try no longer counts. */
async function reopenRecipients(ctx: Ctx, batchUuids: string[], includeInterrupted: boolean): Promise<number> {
  const statuses = includeInterrupted ? ['FAILED', 'INTERRUPTED'] : ['FAILED']
  const result = await ctx.db.execute<{ people: number }>(sql`
    with again as (
      update campaign_recipients
      set status = 'WAITING', attempts = 0, worker_id = null, settled_at = null
      where workspace_id = ${uuidOf(ctx.workspaceId)} and batch_id = any(${sql.param(batchUuids)}::uuid[])
        and status = any(${sql.param(statuses)}::text[])
      returning workspace_id, batch_id, old.status as was, new.status as became),
    ${updateRecipientCounters('again')}
    select count(*)::int as people from again`)
  return result.rows[0]?.people ?? 0
}

/** Those that were over. The others still have their work on the queue. */
async function reopenBatches(ctx: Ctx, batchUuids: string[]) {
  await ctx.db.execute(sql`
    with reopened as (
      update campaign_batches set status = 'PENDING'
      where workspace_id = ${uuidOf(ctx.workspaceId)} and id = any(${sql.param(batchUuids)}::uuid[]) and status = 'DONE'
      returning workspace_id, id),
    ${enqueueMany('campaigns', 'reopened', originOf(ctx))}
    select from notified`)
}
