import { and, eq, gt, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { timeAtLeast } from '../db/schema/columns.ts'
import { campaigns, lists } from '../db/schema/index.ts'
import { bindParams, composedStatement } from '../db/statements/named-statement.ts'
import { int } from '../db/statements/sql-types.ts'
import { emit } from '../events/emit.ts'
import {
  enqueueMany,
  enqueueParams,
  publishedUuids,
  publishEnqueued,
  toEnqueueParams,
  withPublished,
} from '../work/enqueue.ts'
import { AppError, conflict } from '../kernel/errors.ts'
import type { CampaignId } from '../kernel/ids.ts'
import { lockList } from '../lists/lists.ts'
import { requireVerifiedOwner } from '../mail/verified-owner.ts'
import { lockQuotas, quotaExceeded, readQuotas } from '../quotas/require-quota.ts'
import { checkTemplates } from '../rendering/check-templates.ts'
import { templateFields } from '../rendering/template-sources.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { isMailable } from '../consent/derive-status.ts'
import { narrowToSegment } from './narrow-to-segment.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'
import { campaignSending } from './campaign-events.ts'
import { checkRenderedSubject } from './campaign-mail.ts'
import {
  type CampaignRow,
  createNotDraftError,
  readCampaign,
  readCampaignSummary,
  requireSenderOf,
  toCampaignSummary,
} from './campaigns.ts'
import type { Campaign, Sending } from './campaigns.schema.ts'
import {
  hashContent,
  type ReviewedCampaign,
  requireReviewedContent,
  requireReviewedCount,
} from './sending-report/reviewed-campaign.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/** One job sends one batch. A small batch finishes soon; a large batch keeps the number of jobs low. */
const batchSize = 200

/**
 * Starts sending a DRAFT to the subscribers that are CONFIRMED on its list now, and returns their exact number. The
 * transaction is short even for a large list: it writes one row per batch, not per recipient. The second of two
 * concurrent calls throws `wrong_state`, and so does a campaign whose templates are not valid anymore. With `reviewed`,
 * throws `precondition_failed` unless the campaign and the number of its recipients are as reviewed.
 */
export async function sendCampaign(ctx: Ctx, id: CampaignId, reviewed?: ReviewedCampaign): Promise<Sending> {
  return sendCheckedCampaign(ctx, await checkCampaignOnce(ctx, id), reviewed)
}

/** The second half of `sendCampaign`, with what `checkCampaignOnce` returned. */
export function sendCheckedCampaign(ctx: Ctx, checked: Campaign, reviewed?: ReviewedCampaign): Promise<Sending> {
  const { id } = checked
  return inTransaction(ctx, async (ctx) => {
    await requireVerifiedOwner(ctx)
    const limit = await lockMailQuota(ctx)
    const now = timestampNow()
    const [draft] = await ctx.db
      .update(campaigns)
      .set({ status: 'SENDING', sentAt: now, updatedAt: timeAtLeast(campaigns.updatedAt, now) })
      .where(and(byId(campaigns, ctx, id), eq(campaigns.status, 'DRAFT')))
      .returning()
    if (!draft) throw createNotDraftError(await readCampaignSummary(ctx, id), 'sent')
    const workspace = await readWorkspace(ctx)
    if (reviewed) requireReviewedContent(reviewed, await hashContent(ctx, draft, workspace))
    if (templateFields.some((field) => draft[field] !== checked[field]))
      throw conflict('wrong_state', 'The campaign was changed while it was checked')
    await requireSenderOf(ctx, draft)
    const { queued, unseen } = await snapshotAudience(ctx, draft)
    if (reviewed) requireReviewedCount(reviewed, queued)
    if (queued === 0) throw new AppError('no_recipients', 'List has no subscribed recipients')
    if (limit !== Infinity && (await countMailsOfDay(ctx)) + queued > limit)
      throw quotaExceeded('campaignMails', limit, await readMailWait(ctx, limit - queued))
    await ctx.db
      .update(campaigns)
      .set({ queued })
      .where(byId(campaigns, ctx, id))
    await emit(ctx, campaignSending, toCampaignSummary({ ...draft, queued }))
    // The audit entry `campaign.sent` records this request. The event `campaign.sent` is emitted when the campaign
    // completes, see `finishBatch`. Both names are stored, so they cannot change.
    await audit(ctx, 'campaign.sent', { subjectId: id, queued })
    return { queued, unseen }
  })
}

/** Locks the quotas only if there is a limit, because a large audience takes seconds. */
async function lockMailQuota(ctx: Ctx): Promise<number> {
  const { campaignMails } = await readQuotas(ctx)
  return campaignMails === Infinity ? campaignMails : (await lockQuotas(ctx)).campaignMails
}

const isOfLastDay = (ctx: Ctx) =>
  and(eq(campaigns.workspaceId, ctx.workspaceId), gt(campaigns.sentAt, sql`now() - interval '1 day'`))

/** The recipients of the campaigns that were sent in the last 24 hours. */
export async function countMailsOfDay(ctx: Ctx): Promise<number> {
  const [row] = await ctx.db
    .select({ queued: sql<number>`coalesce(sum(${campaigns.queued}), 0)::float8` })
    .from(campaigns)
    .where(isOfLastDay(ctx))
  return row?.queued ?? 0
}

/**
 * Returns the seconds until the campaigns of the last day have at most `allowed` recipients. Undefined if waiting does not
 * help, because `allowed` is negative.
 */
async function readMailWait(ctx: Ctx, allowed: number): Promise<number | undefined> {
  if (allowed < 0) return undefined
  const total = sql`sum(${campaigns.queued}) over (order by ${campaigns.sentAt} desc)`
  const ofDay = ctx.db
    .select({
      total: sql<number>`${total}::float8`.as('total'),
      seconds: sql<number>`ceil(extract(epoch from ${campaigns.sentAt} + interval '1 day' - now()))::int`.as('seconds'),
    })
    .from(campaigns)
    .where(isOfLastDay(ctx))
    .as('of_day')
  const [last] = await ctx.db
    .select({ seconds: sql<number | null>`max(${ofDay.seconds})` })
    .from(ofDay)
    .where(gt(ofDay.total, allowed))
  return last?.seconds ?? undefined
}

/** The checks in progress. Concurrent requests for a campaign share one, as a workspace's rendering queue is short. */
const checks = new Map<string, Promise<Campaign>>()

/**
 * Checks a campaign that is about to be sent. Not within a transaction: it must not stay open while the check waits for its
 * turn, and other requests share the check, which may last longer.
 */
export function checkCampaignOnce(ctx: Ctx, id: CampaignId): Promise<Campaign> {
  const key = `${ctx.workspaceId} ${id}`
  const check = checks.get(key) ?? checkCampaign(ctx, id).finally(() => checks.delete(key))
  checks.set(key, check)
  return check
}

/** Checks the templates of a DRAFT as when they are saved, because a custom field may have been deleted since. */
export async function checkCampaign(ctx: Ctx, id: CampaignId): Promise<Campaign> {
  const campaign = await readCampaign(ctx, id)
  if (campaign.status !== 'DRAFT') throw createNotDraftError(campaign, 'sent')
  await checkTemplates(ctx, campaign, { code: 'wrong_state' })
  // Without a list, there are no recipients.
  if (campaign.listId !== null) await checkRenderedSubject(ctx, id)
  return campaign
}

/**
 * Writes the mailable subscribers of the list, within the segment if there is one, to batches and enqueues them.
 * Returns the number of subscribers, and of those whom the segment leaves out as unseen.
 */
async function snapshotAudience(ctx: Ctx, campaign: CampaignRow): Promise<Sending> {
  if (campaign.listId === null || !(await lockList(ctx, campaign.listId))) return { queued: 0, unseen: 0 }
  const param = bindParams(
    { ...enqueueParams, campaignId: campaigns.id, listId: lists.id },
    { ...toEnqueueParams(ctx, 'CAMPAIGN_BATCH'), campaignId: campaign.id, listId: campaign.listId },
  )
  // Enough memory for the ids of a million subscribers. With temporary files, the statement takes twice as long.
  await ctx.db.execute(sql`set local work_mem = '64MB'; set local jit = off`)
  const { from, matching, possible } = await narrowToSegment(ctx, campaign)
  // Materialized, because the planner expects one evaluation of `matches` in an aggregate, and would hash no sub-select. Slices
  // of one array: `row_number()` with `group by` takes twice as long.
  const query = sql`
    with found as ${possible ? sql`materialized` : sql``} (
      select s.contact_id, ${possible ? sql`(${matching}) is true` : sql`true`} as matches from ${from}
      where s.workspace_id = ${param.workspaceId} and s.list_id = ${param.listId} and ${isMailable('s')}
        and ${possible ?? matching}),
    audience as materialized (
      -- No ORDER BY: the sending order is unspecified.
      select array_agg(contact_id) filter (where matches) as ids, (count(*) filter (where not matches))::int as unseen
      from found),
    batches as (
      insert into campaign_batches (workspace_id, id, campaign_id, contact_ids)
      select ${param.workspaceId}, uuidv7(), ${param.campaignId}, ids[first : first + ${batchSize}::int - 1]
      from audience cross join generate_series(1, cardinality(ids), ${batchSize}::int) as first
      returning id, cardinality(contact_ids) as size),
    ${enqueueMany(param, 'batches')}
    select coalesce(sum(size), 0)::int as queued, (select unseen from audience), ${publishedUuids} from batches`
  const [snapshot] = await insertBatches(ctx.db, query)
  publishEnqueued(ctx, 'CAMPAIGN_BATCH', snapshot?.published)
  return { queued: snapshot?.queued ?? 0, unseen: snapshot?.unseen ?? 0 }
}

const insertBatches = composedStatement('snapshot an audience', {
  columns: { queued: int, unseen: int, ...withPublished },
})
