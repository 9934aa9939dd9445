/**
 * How a worker sends a campaign: it claims a batch, claims the recipients of the batch group by group, records their
 * outcomes, and finishes the batch.
 *
 * A batch may run twice, even concurrently, but a recipient never gets two mails:
 * - A worker claims a recipient before it sends: it inserts the recipient's row as SENDING, or updates it from WAITING
 *   to SENDING, with the token of the group. Only the job that knows the token sends to the recipient.
 * - A SENDING recipient becomes WAITING again only if no mail was sent: the mail was not rendered, the server refused
 *   it, or the response of the claim was lost.
 * - A claim that ends in any other way leaves no SENDING recipients: they become INTERRUPTED. Only a user can retry
 *   them.
 */
import { hashProviderMessageId } from '../mail/providers/provider-message-id.ts'
import { and, eq, inArray, sql } from 'drizzle-orm'
import { randomUUID } from 'node:crypto'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emit } from '../events/emit.ts'
import type { Db } from '../db/client.ts'
import { transaction } from '../db/transaction.ts'
import { type CampaignId, idOf, uuidOf } from '../kernel/ids.ts'
import { timeAtLeast } from '../db/schema/columns.ts'
import { campaignBatches, campaignRecipients, campaigns, workspaces } from '../db/schema/index.ts'
import type { Recipient } from '../rendering/recipient.ts'
import {
  type Claim,
  claimWork,
  finishClaim,
  latestToken,
  lockClaim,
  type Recovery,
  releaseClaim,
} from '../work/claims.ts'
import type { WorkScope } from '../work/enqueue.ts'
import { summaryColumns, type SummaryRow, toCampaignSummary } from './campaigns.ts'
import type { RecipientOutcome } from './outcomes.ts'
import { askForRecipient, claimGroup, recordGroupOutcomes } from './sending-statements.ts'
import { interruptRecipients, updateRecipientCounters } from './recipient-counters.ts'
import { campaignSent } from './campaign-events.ts'
import type { TrackingLevels } from '../consent/tracking/tracking-level.ts'
import { type TrackingPolicy, trackRecipients } from './track-recipients.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/** A batch that a job has claimed. `isCanceled`: the campaign is CANCELED, so the job skips the recipients. */
export interface ClaimedBatch {
  claim: Claim
  campaignId: CampaignId
  contactUuids: string[]
  isCanceled: boolean
  tracking: TrackingPolicy
}

/** Claims a PENDING batch of a SENDING or CANCELED campaign. Returns undefined if that is not possible. */
export function claimBatch(ctx: Ctx, claim: Claim): Promise<ClaimedBatch | undefined> {
  return inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .select({
        campaignId: campaignBatches.campaignId,
        contactUuids: contactsWithoutOutcome(ctx),
        campaignStatus: campaigns.status,
        tracking: {
          opens: campaigns.trackOpens,
          clicks: campaigns.trackClicks,
          withoutConsent: workspaces.trackingWithoutConsent,
        },
      })
      .from(campaignBatches)
      .innerJoin(
        campaigns,
        and(eq(campaigns.workspaceId, campaignBatches.workspaceId), eq(campaigns.id, campaignBatches.campaignId)),
      )
      .innerJoin(workspaces, eq(workspaces.id, campaignBatches.workspaceId))
      .where(and(isBatch(ctx, claim), inArray(campaigns.status, ['SENDING', 'CANCELED'])))
    if (!row || !(await claimWork(ctx, claim))) return undefined
    const { campaignStatus, ...batch } = row
    return { claim, ...batch, isCanceled: campaignStatus === 'CANCELED' }
  })
}

/**
 * The recipients of a batch without an outcome. In a batch that was reopened for a few of them, the others must not take
 * up the rate of mails.
 */
const contactsWithoutOutcome = ({ workspaceId }: Ctx) => sql<string[]>`array(
  select id from unnest(${campaignBatches.contactIds}) as recipient (id)
  where not exists (
    select from campaign_recipients r where r.workspace_id = ${uuidOf(workspaceId)}
      and r.campaign_id = ${campaignBatches.campaignId} and r.contact_id = recipient.id and r.status <> 'WAITING'))`

/** Sets the pending recipients of a batch to SKIPPED, after its campaign was canceled. Idempotent. */
export async function skipRecipients(ctx: Ctx, batch: ClaimedBatch): Promise<'done'> {
  await ctx.db.execute(sql`
    with skipped as (
      insert into campaign_recipients as r (workspace_id, campaign_id, contact_id, batch_id, status, error, ended_at)
      select b.workspace_id, b.campaign_id, recipient.id, b.id, 'SKIPPED', 'The campaign was canceled', ${timestampNow()}::timestamptz
      from campaign_batches b cross join lateral unnest(b.contact_ids) as recipient (id)
      where b.workspace_id = ${uuidOf(ctx.workspaceId)} and b.id = ${batch.claim.id} and b.status = 'PENDING'
      on conflict (workspace_id, campaign_id, contact_id) do update
      set status = excluded.status, error = excluded.error, ended_at = excluded.ended_at
      where r.status = 'WAITING'
      returning batch_id, null as was, status as became),
    ${updateRecipientCounters('skipped', sql`${uuidOf(ctx.workspaceId)}::uuid`)}
    select from skipped limit 1`)
  return 'done'
}

/** A recipient that only the caller may send to. `attempts` includes this attempt. `tracking`: what its mail records. */
export type ClaimedRecipient = Recipient & { attempts: number; tracking: TrackingLevels }

/**
 * Claims the recipients of a group that have no row yet or are WAITING. Recipients to whom mail may no longer go become SKIPPED and
 * are not returned. `isStopped`: the campaign is not SENDING, or
 * the claim was lost. If a response is lost, nothing of the group was sent, which `recoverBatch` knows from the claim.
 */
export async function claimRecipients(
  ctx: Ctx,
  batch: ClaimedBatch,
  contactUuids: readonly string[],
): Promise<{ isStopped: boolean; recipients: ClaimedRecipient[] }> {
  const { claim, campaignId } = batch
  const formerTokens = claim.tokens
  const token = randomUUID()
  claim.tokens = [...formerTokens, token]
  claim.unsentToken = token
  const params = { ...toBatchParams(ctx, claim), campaignId, formerTokens, contactUuids }
  const rows = await claimGroup(ctx.db, params)
  const isSending = rows.length > 0
  claim.tokens = isSending ? [token] : formerTokens
  type Claimed = (typeof rows)[number] & Omit<ClaimedRecipient, 'tracking'>
  const claimed = rows.filter((row): row is Claimed => row.id !== null)
  const { tracking: policy } = batch
  const recipients = await trackRecipients(ctx, { policy, batchUuid: claim.id, token }, claimed)
  claim.unsentToken = undefined
  return { isStopped: !isSending, recipients }
}

/**
 * Whether mail may still go to a recipient that was claimed a while ago: asks for the claim, for the address of the
 * contact, and for its subscription. `reason` is null if it may. Returns undefined if the claim was lost.
 */
export async function askAgain(
  ctx: Ctx,
  batch: ClaimedBatch,
  { id: contactId, email }: Pick<ClaimedRecipient, 'id' | 'email'>,
): Promise<{ reason: string | null } | undefined> {
  const { campaignId, claim } = batch
  const params = { workspaceId: ctx.workspaceId, campaignId, contactId, email, token: latestToken(claim) }
  const [found] = await askForRecipient(ctx.db, params)
  return found
}

const toBatchParams = (ctx: Ctx, claim: Claim) => ({
  workspaceId: ctx.workspaceId,
  batchUuid: claim.id,
  token: latestToken(claim),
  now: timestampNow(),
})

/**
 * Records the outcomes of the group that was claimed last, in one statement. An outcome that arrives after recovery
 * overwrites INTERRUPTED, unless another attempt has begun. Then WAITING is recorded as FAILED, because the batch may
 * already be DONE, and no job would claim the recipient again.
 */
export async function recordRecipientOutcomes(
  ctx: Ctx,
  batch: ClaimedBatch,
  outcomes: readonly RecipientOutcome[],
): Promise<void> {
  if (outcomes.length === 0) return
  await recordGroupOutcomes(ctx.db, {
    ...toBatchParams(ctx, batch.claim),
    contactUuids: outcomes.map((outcome) => uuidOf(outcome.contactId)),
    statuses: outcomes.map((outcome) => outcome.status),
    errors: outcomes.map((outcome) => outcome.error),
    bounceClasses: outcomes.map((outcome) => outcome.bounce?.class ?? null),
    bounceCodes: outcomes.map((outcome) => outcome.bounce?.code ?? null),
    providerMessageHashes: outcomes.map(({ providerMessageId: id }) => (id ? hashProviderMessageId(id) : null)),
    attemptsToUndo: outcomes.map((outcome) => outcome.attemptsToUndo ?? 0),
  })
}

/**
 * Sets a batch to DONE after all of its groups were processed. The last batch completes the campaign: unless it was
 * CANCELED, the campaign becomes SENT and `campaign.sent` is emitted. Returns `retry`, without any effect, if a
 * recipient is WAITING for another attempt.
 */
export function finishBatch(ctx: Ctx, batch: ClaimedBatch): Promise<'done' | 'retry'> {
  return inTransaction(ctx, async (ctx) => {
    // This lock serializes batches that finish concurrently. Without it, two last batches could each see the other one
    // as open, and neither would complete the campaign. A retry reopens batches and takes the same lock. Claims do not
    // wait for it: the foreign key of `campaign_recipients` locks `for key share`, which does not conflict.
    await ctx.db.select({ id: campaigns.id }).from(campaigns).where(isCampaignOfBatch(ctx, batch)).for('no key update')
    if (await hasOpenRecipients(ctx, batch.claim)) return 'retry'
    if (!(await finishClaim(ctx, batch.claim))) return 'done'
    await ctx.db.update(campaignBatches).set({ status: 'DONE' }).where(isBatch(ctx, batch.claim))
    const completed = await completeCampaign(ctx, batch)
    // `sendCampaign` recorded the audit entry of the same name.
    if (completed?.status === 'SENT') await emit(ctx, campaignSent, toCampaignSummary(completed))
    return 'done'
  })
}

/** Completes the campaign, which may be PAUSED, if all of its batches are DONE. */
async function completeCampaign(ctx: Ctx, batch: ClaimedBatch): Promise<SummaryRow | undefined> {
  const now = timestampNow()
  const [completed] = await ctx.db
    .update(campaigns)
    .set({
      status: sql`case when ${campaigns.status} = 'CANCELED' then 'CANCELED' else 'SENT' end`,
      pauseReason: null,
      completedAt: now,
      updatedAt: timeAtLeast(campaigns.updatedAt, now),
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

/**
 * Ends a claim whose outcome is unknown: SENDING recipients become INTERRUPTED, as their mails may have been sent. Only
 * those of a group whose claim had no response become WAITING. Returns the number of INTERRUPTED ones.
 */
export function recoverBatch(db: Db, claim: Claim, { error, release }: Recovery): Promise<number> {
  return transaction(db, async (db) => {
    const ctx = { db, workspaceId: claim.workspaceId }
    if (!(await lockClaim(ctx, claim))) return 0
    if (claim.unsentToken !== undefined) await returnUnsent(ctx, claim.id, claim.unsentToken)
    const interrupted = await interruptRecipients(ctx, claim.id, error)
    await releaseClaim(ctx, claim, release)
    return interrupted
  })
}

async function returnUnsent({ db, workspaceId }: WorkScope, batchUuid: string, token: string): Promise<void> {
  await db
    .update(campaignRecipients)
    .set({ status: 'WAITING', attempts: sql`${campaignRecipients.attempts} - 1` })
    .where(
      and(
        eq(campaignRecipients.workspaceId, workspaceId),
        eq(campaignRecipients.batchId, idOf('bat', batchUuid)),
        eq(campaignRecipients.token, token),
        eq(campaignRecipients.status, 'SENDING'),
      ),
    )
}

async function hasOpenRecipients(ctx: Ctx, claim: Claim): Promise<boolean> {
  const [open] = await ctx.db
    .select({ contactId: campaignRecipients.contactId })
    .from(campaignRecipients)
    .where(
      and(
        eq(campaignRecipients.workspaceId, ctx.workspaceId),
        eq(campaignRecipients.batchId, idOf('bat', claim.id)),
        inArray(campaignRecipients.status, ['WAITING', 'SENDING']),
      ),
    )
    .limit(1)
  return open !== undefined
}

function isBatch({ workspaceId }: Pick<Ctx, 'workspaceId'>, claim: Claim) {
  return and(eq(campaignBatches.workspaceId, workspaceId), eq(campaignBatches.id, idOf('bat', claim.id)))
}

function isCampaignOfBatch(ctx: Ctx, batch: ClaimedBatch) {
  return and(eq(campaigns.workspaceId, ctx.workspaceId), eq(campaigns.id, batch.campaignId))
}
