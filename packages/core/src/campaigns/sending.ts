/**
 * The worker's side of a campaign. Two claims, each one statement: a batch is in the hands of one worker, and whoever
 * inserts a person's recipient row, and nobody else ever, sends to them. So a batch may run twice, even at once, and
 * nobody gets two mails; and as every row is there before its mail is, a death leaves INTERRUPTED rows and no doubt.
 * Only who was surely refused waits for another try: their row changes hands from WAITING, again to one alone.
 */
import { and, eq, inArray, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emit } from '../events/emit.ts'
import { type CampaignId, idOf, uuidOf } from '../kernel/ids.ts'
import { finishWork, requeueWork } from '../jobs/outbox.ts'
import { campaignBatches, campaignRecipients, campaigns } from '../db/schema/index.ts'
import type { Recipient } from './recipient.ts'
import { type CampaignRow, toCampaign } from './campaigns.ts'
import type { RecipientOutcome } from './outcomes.ts'
import { type BatchKeys, claimGroup, recordGroupOutcomes } from './sending-statements.ts'
import { interruptRecipients, updateRecipientCounters } from './recipient-counters.ts'
import { campaignSent } from './campaign-events.ts'

interface BatchInHand {
  uuid: string
  workerId: string
}

/** A batch in this worker's hands. `isCanceled`: its campaign is, and who is left is to be skipped. */
export interface ClaimedBatch extends BatchInHand {
  campaignId: CampaignId
  contactUuids: string[]
  isCanceled: boolean
}

/** Takes a batch of a campaign in hand that is SENDING or CANCELED; undefined when it is in other hands, done or PAUSED. */
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
      ),
    )
    .returning({
      campaignId: campaignBatches.campaignId,
      contactIds: campaignBatches.contactIds,
      campaignStatus: campaigns.status,
    })
  if (!row) return undefined
  const { campaignId, contactIds, campaignStatus } = row
  return { uuid, campaignId, contactUuids: contactIds, workerId, isCanceled: campaignStatus === 'CANCELED' }
}

/** Of a campaign that was CANCELED: who has not been sent to is SKIPPED. Harmless to repeat. */
export async function skipRecipients(ctx: Ctx, batch: ClaimedBatch): Promise<'done'> {
  await ctx.db.execute(sql`
    with skipped as (
      insert into campaign_recipients as r (workspace_id, campaign_id, contact_id, batch_id, status, error, settled_at)
      select b.workspace_id, b.campaign_id, person.id, b.id, 'SKIPPED', 'The campaign was canceled', now()
      from campaign_batches b cross join lateral unnest(b.contact_ids) as person (id)
      where b.workspace_id = ${uuidOf(ctx.workspaceId)} and b.id = ${batch.uuid}
        and b.status = 'SENDING' and b.worker_id = ${batch.workerId}
      on conflict (workspace_id, campaign_id, contact_id) do update
      set status = excluded.status, error = excluded.error, settled_at = excluded.settled_at
      where r.status = 'WAITING'
      returning workspace_id, batch_id, null as was, status as became),
    ${updateRecipientCounters('skipped')}
    select from skipped limit 1`)
  return 'done'
}

/** A person whom this worker, and nobody else, may send to; `attempts` counts this one. */
export type ClaimedRecipient = Recipient & { attempts: number }

/**
 * Claims those of the group whom nobody has claimed yet. Who has left the list since is SKIPPED and not returned.
 * `stopped`: the campaign is no longer SENDING, or the batch no longer this worker's, and nobody was claimed.
 */
export async function claimRecipients(
  ctx: Ctx,
  batch: ClaimedBatch,
  contactUuids: readonly string[],
): Promise<{ stopped: boolean; recipients: ClaimedRecipient[] }> {
  const rows = await claimGroup(ctx.db, { ...keysOf(ctx, batch), contactIds: contactUuids })
  const claimed = rows.filter((row) => row.id !== null)
  return { stopped: rows.length === 0, recipients: claimed.map((row) => ({ ...row, id: idOf('con', row.id) })) }
}

const keysOf = (ctx: Ctx, batch: ClaimedBatch): BatchKeys => ({
  workspaceId: uuidOf(ctx.workspaceId),
  campaignId: uuidOf(batch.campaignId),
  batchId: batch.uuid,
  workerId: batch.workerId,
})

/** Takes a claim back that was surely not acted upon, as its answer never came. */
export async function undoRecipientClaims(ctx: Ctx, batch: ClaimedBatch, contactUuids: readonly string[]) {
  await ctx.db.execute(sql`
    update campaign_recipients
    set status = 'WAITING', worker_id = null, attempts = attempts - 1
    where workspace_id = ${uuidOf(ctx.workspaceId)} and campaign_id = ${uuidOf(batch.campaignId)}
      and contact_id = any(${sql.param([...contactUuids])}::uuid[])
      and worker_id = ${batch.workerId} and status = 'SENDING'`)
}

/**
 * Records a group's outcomes in one statement. A late truth corrects a premature INTERRUPTED, but only its own, and not
 * to wait for another try: the batch may be over by then.
 */
export async function recordOutcomes(
  ctx: Ctx,
  batch: ClaimedBatch,
  outcomes: readonly RecipientOutcome[],
): Promise<void> {
  if (outcomes.length === 0) return
  await recordGroupOutcomes(ctx.db, {
    ...keysOf(ctx, batch),
    contactIds: outcomes.map((outcome) => uuidOf(outcome.contactId)),
    statuses: outcomes.map((outcome) => outcome.status),
    errors: outcomes.map((outcome) => outcome.error),
    uncounted: outcomes.map((outcome) => outcome.attemptsToUndo ?? 0),
  })
}

/**
 * Everyone in the batch has had their turn. The last batch to finish completes the campaign: `campaign.sent` is told,
 * unless it was CANCELED. `waiting`: somebody is to be tried again, or is still in the hands of a worker that had the
 * batch before and was taken for dead, so the batch is put back instead.
 */
export function finishBatch(ctx: Ctx, batch: ClaimedBatch): Promise<'done' | 'waiting'> {
  return inTransaction(ctx, async (ctx) => {
    // Batches that finish at once take turns here, else each would see the other one open and none complete it; so does
    // a retry, that opens batches again. Those that claim recipients pass: their foreign key asks for the key only.
    await ctx.db.select({ id: campaigns.id }).from(campaigns).where(isCampaignOf(ctx, batch)).for('no key update')
    if (await isAnyoneOpen(ctx, batch)) {
      await releaseBatch(ctx, batch)
      return 'waiting'
    }
    const done = await ctx.db
      .update(campaignBatches)
      .set({ status: 'DONE', workerId: null })
      .where(isMine(ctx, batch))
      .returning({ id: campaignBatches.id })
    if (done.length === 0) return 'done'
    await finishWork(ctx.db, [batch.uuid])
    const completed = await completeCampaign(ctx, batch)
    if (completed?.status === 'SENT') await emit(ctx, campaignSent, toCampaign(completed))
    return 'done'
  })
}

/** When no batch is open any more. One that is PAUSED with nobody left is complete as well. */
async function completeCampaign(ctx: Ctx, batch: ClaimedBatch): Promise<CampaignRow | undefined> {
  const [completed] = await ctx.db
    .update(campaigns)
    .set({
      status: sql`case ${campaigns.status} when 'CANCELED' then 'CANCELED' else 'SENT' end`,
      pauseReason: null,
      completedAt: sql`now()`,
      updatedAt: sql`now()`,
    })
    .where(
      and(
        isCampaignOf(ctx, batch),
        inArray(campaigns.status, ['SENDING', 'PAUSED', 'CANCELED']),
        sql`not exists (
          select from campaign_batches b
          where b.workspace_id = ${campaigns.workspaceId} and b.campaign_id = ${campaigns.id} and b.status <> 'DONE')`,
      ),
    )
    .returning()
  return completed
}

/** Puts a batch back that is not done. The job that had it comes again, as it throws. */
export async function releaseBatch(ctx: Ctx, batch: BatchInHand): Promise<boolean> {
  const released = await ctx.db
    .update(campaignBatches)
    .set({ status: 'PENDING', workerId: null })
    .where(isMine(ctx, batch))
    .returning({ id: campaignBatches.id })
  return released.length > 0
}

/**
 * Releases a batch after an error. The outcomes of a group may be missing: its recipients, still SENDING, become
 * INTERRUPTED in the same transaction. So a batch that is claimed anew has no SENDING recipient to whom a mail of this
 * worker may have gone, and `undoRecipientClaims` can rely on that. Returns how many became INTERRUPTED.
 */
export function interruptAndReleaseBatch(ctx: Ctx, batch: BatchInHand): Promise<number> {
  return inTransaction(ctx, async (ctx) => {
    const isClaimed = sql`workspace_id = ${uuidOf(ctx.workspaceId)} and batch_id = ${batch.uuid}
      and worker_id = ${batch.workerId} and status = 'SENDING'`
    const interrupted = await interruptRecipients(ctx.db, isClaimed, 'How it ended could not be recorded')
    await releaseBatch(ctx, batch)
    return interrupted
  })
}

/** The same for a job that ends well: the batch goes on the queue again, for any worker to go on with. */
export function releaseAndRequeueBatch(ctx: Ctx, batch: BatchInHand): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    if (await releaseBatch(ctx, batch)) await requeueWork(ctx.db, [batch.uuid])
  })
}

async function isAnyoneOpen(ctx: Ctx, batch: ClaimedBatch): Promise<boolean> {
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

function isMine(ctx: Ctx, batch: BatchInHand) {
  return and(
    eq(campaignBatches.workspaceId, ctx.workspaceId),
    eq(campaignBatches.id, idOf('bat', batch.uuid)),
    eq(campaignBatches.workerId, batch.workerId),
    eq(campaignBatches.status, 'SENDING'),
  )
}

function isCampaignOf(ctx: Ctx, batch: ClaimedBatch) {
  return and(eq(campaigns.workspaceId, ctx.workspaceId), eq(campaigns.id, batch.campaignId))
}
