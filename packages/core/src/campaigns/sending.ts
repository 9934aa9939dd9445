/**
 * How a worker sends a campaign: it claims a batch, claims the recipients of the batch group by group, records their
 * outcomes, and finishes the batch.
 *
 * A batch may run twice, even concurrently, but a recipient never gets two mails:
 * - A worker claims a recipient before it sends: it inserts the recipient's row as SENDING, or updates it from WAITING
 *   to SENDING. Only that worker sends to the recipient.
 * - A SENDING recipient becomes WAITING again only if no mail was sent: the mail was not rendered, the server refused
 *   it, or the claim was released.
 * - If a worker crashes, its SENDING recipients become INTERRUPTED. Only a user can retry them.
 */
import { and, eq, inArray, not, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emit } from '../events/emit.ts'
import { type CampaignId, idOf, uuidOf } from '../kernel/ids.ts'
import { finishWork, requeueWork } from '../jobs/outbox.ts'
import { campaignBatches, campaignRecipients, campaigns } from '../db/schema/index.ts'
import { isInSuspendedWorkspace } from '../request/suspended-workspace.ts'
import type { Recipient } from './recipient.ts'
import { summaryColumns, type SummaryRow, toCampaignSummary } from './campaigns.ts'
import type { RecipientOutcome } from './outcomes.ts'
import { type BatchParams, claimGroup, recordGroupOutcomes } from './sending-statements.ts'
import { interruptRecipients, updateRecipientCounters } from './recipient-counters.ts'
import { campaignSent } from './campaign-events.ts'

/** A batch that a worker has claimed. `isCanceled`: the campaign is CANCELED, so the worker skips the recipients. */
export interface ClaimedBatch {
  uuid: string
  campaignId: CampaignId
  contactUuids: string[]
  workerId: string
  isCanceled: boolean
}

type BatchClaim = Pick<ClaimedBatch, 'uuid' | 'workerId'>

/**
 * Claims a PENDING batch of a SENDING or CANCELED campaign. Returns undefined if that is not possible,
 * or if the workspace is suspended.
 */
export async function claimBatch(ctx: Ctx, uuid: string, workerId: string): Promise<ClaimedBatch | undefined> {
  const [row] = await ctx.db
    .update(campaignBatches)
    .set({ status: 'SENDING', workerId })
    .from(campaigns)
    .where(
      and(
        eq(campaignBatches.workspaceId, ctx.workspaceId),
        eq(campaignBatches.id, idOf('bat', uuid)),
        eq(campaignBatches.status, 'PENDING'),
        eq(campaigns.workspaceId, campaignBatches.workspaceId),
        eq(campaigns.id, campaignBatches.campaignId),
        inArray(campaigns.status, ['SENDING', 'CANCELED']),
        not(isInSuspendedWorkspace(campaigns.workspaceId)),
      ),
    )
    .returning({
      campaignId: campaignBatches.campaignId,
      contactUuids: campaignBatches.contactIds,
      campaignStatus: campaigns.status,
    })
  if (!row) return undefined
  const { campaignId, contactUuids, campaignStatus } = row
  return { uuid, campaignId, contactUuids, workerId, isCanceled: campaignStatus === 'CANCELED' }
}

/** Sets the pending recipients of a batch to SKIPPED, after its campaign was canceled. Idempotent. */
export async function skipRecipients(ctx: Ctx, batch: ClaimedBatch): Promise<'done'> {
  await ctx.db.execute(sql`
    with skipped as (
      insert into campaign_recipients as r (workspace_id, campaign_id, contact_id, batch_id, status, error, settled_at)
      select b.workspace_id, b.campaign_id, recipient.id, b.id, 'SKIPPED', 'The campaign was canceled', ${new Date().toISOString()}::timestamptz
      from campaign_batches b cross join lateral unnest(b.contact_ids) as recipient (id)
      where b.workspace_id = ${uuidOf(ctx.workspaceId)} and b.id = ${batch.uuid}
        and b.status = 'SENDING' and b.worker_id = ${batch.workerId}
      on conflict (workspace_id, campaign_id, contact_id) do update
      set status = excluded.status, error = excluded.error, settled_at = excluded.settled_at
      where r.status = 'WAITING'
      returning batch_id, null as was, status as became),
    ${updateRecipientCounters('skipped', sql`${uuidOf(ctx.workspaceId)}::uuid`)}
    select from skipped limit 1`)
  return 'done'
}

/** A recipient that only this worker may send to. `attempts` includes this attempt. */
export type ClaimedRecipient = Recipient & { attempts: number }

/**
 * Claims the recipients of a group that have no row yet or are WAITING. Recipients that are no longer subscribed become
 * SKIPPED and are not returned. `stopped`: the campaign is not SENDING, or this worker does not own the batch anymore.
 */
export async function claimRecipients(
  ctx: Ctx,
  batch: ClaimedBatch,
  contactUuids: readonly string[],
): Promise<{ stopped: boolean; recipients: ClaimedRecipient[] }> {
  const rows = await claimGroup(ctx.db, { ...toBatchParams(ctx, batch), contactUuids })
  const isSending = rows.length > 0
  const claimed = rows.filter((row) => row.id !== null)
  return { stopped: !isSending, recipients: claimed.map((row) => ({ ...row, id: idOf('con', row.id) })) }
}

const toBatchParams = (ctx: Ctx, batch: ClaimedBatch): BatchParams => ({
  workspaceUuid: uuidOf(ctx.workspaceId),
  campaignUuid: uuidOf(batch.campaignId),
  batchUuid: batch.uuid,
  workerId: batch.workerId,
  now: new Date(),
})

/**
 * Releases the recipients of a group after the response to `claimRecipients` was lost. No mail was sent to them, so
 * they become WAITING. Every SENDING recipient of this worker in the group belongs to that claim: an earlier run of the
 * batch left none, because it recorded the outcomes or ended with `interruptAndReleaseBatch`.
 */
export async function releaseRecipients(ctx: Ctx, batch: ClaimedBatch, contactUuids: readonly string[]): Promise<void> {
  await ctx.db.execute(sql`
    update campaign_recipients
    set status = 'WAITING', worker_id = null, attempts = attempts - 1
    where workspace_id = ${uuidOf(ctx.workspaceId)} and campaign_id = ${uuidOf(batch.campaignId)}
      and contact_id = any(${sql.param([...contactUuids])}::uuid[])
      and worker_id = ${batch.workerId} and status = 'SENDING'`)
}

/**
 * Records the outcomes of a group in one statement. An outcome that arrives after recovery overwrites INTERRUPTED, if
 * the same worker had claimed the recipient. Then WAITING is recorded as FAILED, because the batch may already be DONE,
 * and no job would claim the recipient again.
 */
export async function recordRecipientOutcomes(
  ctx: Ctx,
  batch: ClaimedBatch,
  outcomes: readonly RecipientOutcome[],
): Promise<void> {
  if (outcomes.length === 0) return
  await recordGroupOutcomes(ctx.db, {
    ...toBatchParams(ctx, batch),
    contactUuids: outcomes.map((outcome) => uuidOf(outcome.contactId)),
    statuses: outcomes.map((outcome) => outcome.status),
    errors: outcomes.map((outcome) => outcome.error),
    attemptsToUndo: outcomes.map((outcome) => outcome.attemptsToUndo ?? 0),
  })
}

/**
 * Sets a batch to DONE after all of its groups were processed. The last batch completes the campaign: unless it was
 * CANCELED, the campaign becomes SENT and `campaign.sent` is emitted.
 *
 * Releases the batch and returns `waiting` if a recipient is WAITING for another attempt, or if a previous owner of the
 * batch is still SENDING to a recipient.
 */
export function finishBatch(ctx: Ctx, batch: ClaimedBatch): Promise<'done' | 'waiting'> {
  return inTransaction(ctx, async (ctx) => {
    // This lock serializes batches that finish concurrently. Without it, two last batches could each see the other one
    // as open, and neither would complete the campaign. A retry reopens batches and takes the same lock. Claims do not
    // wait for it: the foreign key of `campaign_recipients` locks `for key share`, which does not conflict.
    await ctx.db.select({ id: campaigns.id }).from(campaigns).where(isCampaignOfBatch(ctx, batch)).for('no key update')
    if (await hasOpenRecipients(ctx, batch)) {
      await releaseBatch(ctx, batch)
      return 'waiting'
    }
    const done = await ctx.db
      .update(campaignBatches)
      .set({ status: 'DONE', workerId: null })
      .where(isOwnedBatch(ctx, batch))
      .returning({ id: campaignBatches.id })
    if (done.length === 0) return 'done'
    await finishWork(ctx, [batch.uuid])
    const completed = await completeCampaign(ctx, batch)
    // `sendCampaign` recorded the audit entry of the same name.
    if (completed?.status === 'SENT') await emit(ctx, campaignSent, toCampaignSummary(completed))
    return 'done'
  })
}

/** Completes the campaign, which may be PAUSED, if all of its batches are DONE. */
async function completeCampaign(ctx: Ctx, batch: ClaimedBatch): Promise<SummaryRow | undefined> {
  const now = new Date()
  const [completed] = await ctx.db
    .update(campaigns)
    .set({
      status: sql`case when ${campaigns.status} = 'CANCELED' then 'CANCELED' else 'SENT' end`,
      pauseReason: null,
      completedAt: now,
      updatedAt: now,
    })
    .where(
      and(
        isCampaignOfBatch(ctx, batch),
        inArray(campaigns.status, ['SENDING', 'PAUSED', 'CANCELED']),
        sql`not exists (
          select from campaign_batches b
          where b.workspace_id = ${campaigns.workspaceId} and b.campaign_id = ${campaigns.id} and b.status <> 'DONE')`,
      ),
    )
    .returning(summaryColumns)
  return completed
}

/** Releases a batch, for a job that then fails and is retried. Returns false if the worker does not own the batch. */
export async function releaseBatch(ctx: Ctx, batch: BatchClaim): Promise<boolean> {
  const released = await ctx.db
    .update(campaignBatches)
    .set({ status: 'PENDING', workerId: null })
    .where(isOwnedBatch(ctx, batch))
    .returning({ id: campaignBatches.id })
  return released.length > 0
}

/**
 * Releases a batch after an error. In the same transaction, the recipients that this worker left SENDING become
 * INTERRUPTED, because their outcomes may not have been recorded; `releaseRecipients` relies on this. Returns their
 * number.
 */
export function interruptAndReleaseBatch(ctx: Ctx, batch: BatchClaim): Promise<number> {
  return inTransaction(ctx, async (ctx) => {
    const isClaimed = sql`batch_id = ${batch.uuid} and worker_id = ${batch.workerId}`
    const interrupted = await interruptRecipients(ctx, isClaimed, 'The outcome could not be recorded')
    await releaseBatch(ctx, batch)
    return interrupted
  })
}

/** Releases and requeues a batch. For a job that ends without an error: the queue retries only jobs that fail. */
export function releaseAndRequeueBatch(ctx: Ctx, batch: BatchClaim): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    if (await releaseBatch(ctx, batch)) await requeueWork(ctx, [batch.uuid])
  })
}

async function hasOpenRecipients(ctx: Ctx, batch: ClaimedBatch): Promise<boolean> {
  const [open] = await ctx.db
    .select({ contactId: campaignRecipients.contactId })
    .from(campaignRecipients)
    .where(
      and(
        eq(campaignRecipients.workspaceId, ctx.workspaceId),
        eq(campaignRecipients.batchId, idOf('bat', batch.uuid)),
        inArray(campaignRecipients.status, ['WAITING', 'SENDING']),
      ),
    )
    .limit(1)
  return open !== undefined
}

function isOwnedBatch(ctx: Ctx, batch: BatchClaim) {
  return and(
    eq(campaignBatches.workspaceId, ctx.workspaceId),
    eq(campaignBatches.id, idOf('bat', batch.uuid)),
    eq(campaignBatches.workerId, batch.workerId),
    eq(campaignBatches.status, 'SENDING'),
  )
}

function isCampaignOfBatch(ctx: Ctx, batch: ClaimedBatch) {
  return and(eq(campaigns.workspaceId, ctx.workspaceId), eq(campaigns.id, batch.campaignId))
}
