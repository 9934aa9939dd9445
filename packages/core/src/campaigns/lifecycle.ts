/**
 * Pause, resume, cancel and retry. Like `finishBatch`, each operation locks the campaign's row first, so that they run
 * one at a time. Workers check the campaign's status whenever they claim a group of recipients, so they stop within one
 * group. That statement renews their claim of the batch: pause and cancel must not make it wait, as it would go on after
 * their commit with what it read before. So they leave claimed batches to the jobs, which release them.
 */
import { and, eq, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { conflict } from '../kernel/errors.ts'
import { emit } from '../events/emit.ts'
import { type CampaignId, uuidOf } from '../kernel/ids.ts'
import { timeOfUpdate, timestampNow } from '../kernel/values/timestamps.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, int, uuid } from '../db/statements/sql-types.ts'
import {
  enqueueMany,
  enqueueParams,
  publishedUuids,
  publishEnqueued,
  toEnqueueParams,
  withPublished,
} from '../work/enqueue.ts'
import { delayWork, requeueUnclaimedWork, requeueWork } from '../work/publish.ts'
import { lockList } from '../lists/lists.ts'
import { campaignBatches, campaignRecipients, campaigns } from '../db/schema/index.ts'
import { type Campaign, type RetryInput, type SendResult } from './campaigns.schema.ts'
import {
  type CampaignRow,
  createListDeletedError,
  lockCampaign,
  requireSenderOf,
  toCampaign,
  toCampaignSummary,
} from './campaigns.ts'
import { findRateProblem, isSameProblem } from './find-rate-problem.ts'
import { updateRecipientCounters } from './recipient-counters.ts'
import { campaignCanceled, campaignSending } from './campaign-events.ts'

/**
 * Stops sending. Pending recipients stay pending until the campaign is resumed. `reason` is set if a worker pauses the
 * campaign, and null if a user pauses it.
 */
export function pauseCampaign(ctx: Ctx, id: CampaignId, reason: string | null = null): Promise<Campaign> {
  return inTransaction(ctx, async (ctx) => {
    const campaign = await lockCampaign(ctx, id)
    if (campaign.status === 'PAUSED') return toCampaign(campaign)
    requireStatus(campaign, ['SENDING'], 'paused')
    await delayWork(ctx, await findOpenBatches(ctx, id))
    return toCampaign(await saveStatus(ctx, campaign, { status: 'PAUSED', pauseReason: reason }))
  })
}

/**
 * Continues a PAUSED campaign with its pending recipients. If its rate of bounces or complaints paused it, its rates count as
 * accepted. Throws as `sendCampaign` does if the workspace may not send from the sender any more.
 */
export function resumeCampaign(ctx: Ctx, id: CampaignId): Promise<Campaign> {
  return inTransaction(ctx, async (ctx) => {
    const campaign = await lockCampaign(ctx, id)
    if (campaign.status === 'SENDING') return toCampaign(campaign)
    requireStatus(campaign, ['PAUSED'], 'resumed')
    await requireSenderOf(ctx, campaign)
    await requeueWork(ctx, await findOpenBatches(ctx, id))
    const problem = await findRateProblem(ctx, id)
    const accepted = isSameProblem(problem, campaign.pauseReason) && { ratesAcceptedAt: timestampNow() }
    return toCampaign(await saveStatus(ctx, campaign, { status: 'SENDING', pauseReason: null, ...accepted }))
  })
}

/**
 * Ends a campaign permanently. Mails that are being sent still arrive. Pending recipients become SKIPPED, batch by
 * batch; `completedAt` is set after the last batch.
 */
export function cancelCampaign(ctx: Ctx, id: CampaignId): Promise<Campaign> {
  return inTransaction(ctx, async (ctx) => {
    const campaign = await lockCampaign(ctx, id)
    if (campaign.status === 'CANCELED') return toCampaign(campaign)
    requireStatus(campaign, ['SENDING', 'PAUSED'], 'canceled')
    await requeueUnclaimedWork(ctx, await findOpenBatches(ctx, id))
    const canceled = await saveStatus(ctx, campaign, { status: 'CANCELED', pauseReason: null })
    await emit(ctx, campaignCanceled, toCampaignSummary(canceled))
    return toCampaign(canceled)
  })
}

/**
 * Sets FAILED recipients to WAITING, with `includeInterrupted` also INTERRUPTED recipients, and returns their number. A
 * SENT campaign becomes SENDING again; a PAUSED campaign stays PAUSED. The second of two concurrent calls returns 0. Throws
 * as `sendCampaign` does about the sender, and `wrong_state` if the list was deleted.
 */
export function retryCampaign(ctx: Ctx, id: CampaignId, { includeInterrupted }: RetryInput): Promise<SendResult> {
  return inTransaction(ctx, async (ctx) => {
    const campaign = await lockCampaign(ctx, id)
    requireStatus(campaign, ['SENDING', 'PAUSED', 'SENT'], 'retried')
    await requireSenderOf(ctx, campaign)
    if (campaign.listId === null || !(await lockList(ctx, campaign.listId))) throw createListDeletedError()
    const batches = await findBatchesToRetry(ctx, id, includeInterrupted)
    let queued = 0
    for (let start = 0; start < batches.length; start += batchesPerStatement) {
      const uuids = batches.slice(start, start + batchesPerStatement)
      queued += await reopenRecipients(ctx, uuids, includeInterrupted)
      await reopenBatches(ctx, uuids)
    }
    if (queued > 0 && campaign.status === 'SENT') {
      const sending = await saveStatus(ctx, campaign, { status: 'SENDING', completedAt: null })
      await emit(ctx, campaignSending, toCampaignSummary(sending))
    }
    if (queued > 0) await audit(ctx, 'campaign.retried', { subjectId: id, queued })
    return { queued }
  })
}

/** With 200 recipients per batch, a statement stays well below the statement timeout. */
const batchesPerStatement = 250

function requireStatus({ status }: CampaignRow, allowed: CampaignRow['status'][], action: string) {
  if (allowed.includes(status)) return
  throw conflict(
    'wrong_state',
    `Only a campaign that is ${allowed.join(' or ')} can be ${action}: this campaign is ${status}`,
  )
}

type Change = Partial<Pick<CampaignRow, 'status' | 'pauseReason' | 'ratesAcceptedAt' | 'completedAt'>>

async function saveStatus(ctx: Ctx, current: CampaignRow, change: Change): Promise<CampaignRow> {
  const changes = { ...change, updatedAt: timeOfUpdate(current.updatedAt) }
  await ctx.db
    .update(campaigns)
    .set(changes)
    .where(byId(campaigns, ctx, current.id))
  return { ...current, ...changes }
}

/** Returns the UUIDs of the batches that are not DONE. */
async function findOpenBatches(ctx: Ctx, id: CampaignId): Promise<string[]> {
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
  return open.map((batch) => uuidOf(batch.id))
}

async function findBatchesToRetry(ctx: Ctx, id: CampaignId, includeInterrupted: boolean): Promise<string[]> {
  const hasRecipientsToRetry = includeInterrupted
    ? sql`${campaignBatches.failed} + ${campaignBatches.interrupted} > 0`
    : sql`${campaignBatches.failed} > 0`
  const rows = await ctx.db
    .select({ id: campaignBatches.id })
    .from(campaignBatches)
    .where(
      and(eq(campaignBatches.workspaceId, ctx.workspaceId), eq(campaignBatches.campaignId, id), hasRecipientsToRetry),
    )
  return rows.map((row) => uuidOf(row.id))
}

async function reopenRecipients(ctx: Ctx, batchUuids: string[], includeInterrupted: boolean): Promise<number> {
  const statuses = includeInterrupted ? ['FAILED' as const, 'INTERRUPTED' as const] : ['FAILED' as const]
  const [reopened] = await reopen(ctx.db, { workspaceId: ctx.workspaceId, batchUuids, statuses })
  return reopened?.count ?? 0
}

/** A late outcome of the earlier attempt is not recorded: the recipient is WAITING. */
const reopen = namedStatement('reopen recipients', {
  params: {
    workspaceId: campaignRecipients.workspaceId,
    batchUuids: arrayOf(uuid),
    statuses: arrayOf(campaignRecipients.status),
  },
  columns: { count: int },
  sql: ({ workspaceId, batchUuids, statuses }) => sql`
    with locked as (
      select batch_id, contact_id, status as was, bounced_at is not null as had_bounced from campaign_recipients
      where workspace_id = ${workspaceId} and batch_id = any(${batchUuids}) and status = any(${statuses})
      for update),
    reopened as (
      update campaign_recipients r
      set status = 'WAITING', attempts = 0, ended_at = null, bounce_class = null, bounce_code = null, bounced_at = null
      from locked
      where r.workspace_id = ${workspaceId} and r.batch_id = locked.batch_id and r.contact_id = locked.contact_id
      returning r.batch_id, locked.was, r.status as became, locked.had_bounced),
    ${updateRecipientCounters('reopened', workspaceId, sql`- count(*) filter (where had_bounced)`)}
    select count(*)::int as count from reopened`,
})

/** Reopens and enqueues the batches that were DONE. The other batches are still queued. */
async function reopenBatches(ctx: Ctx, batchUuids: string[]) {
  const [row] = await enqueueReopened(ctx.db, { ...toEnqueueParams(ctx, 'CAMPAIGN_BATCH'), batchUuids })
  publishEnqueued(ctx, 'CAMPAIGN_BATCH', row?.published)
}

const enqueueReopened = namedStatement('reopen batches', {
  params: { ...enqueueParams, batchUuids: arrayOf(uuid) },
  columns: withPublished,
  sql: (param) => sql`
    with reopened as (
      update campaign_batches set status = 'PENDING'
      where workspace_id = ${param.workspaceId} and id = any(${param.batchUuids}) and status = 'DONE'
      returning id),
    ${enqueueMany(param, 'reopened')}
    select ${publishedUuids}`,
})
