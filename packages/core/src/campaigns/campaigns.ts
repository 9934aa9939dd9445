import { isDeepStrictEqual } from 'node:util'
import { and, eq, getTableColumns, or, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { onConstraint } from '../db/database-errors.ts'
import { conflict, invalidField, notFound } from '../kernel/errors.ts'
import { timeOfUpdate, timestampNow } from '../kernel/values/timestamps.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { type CampaignId, newId, type SegmentId } from '../kernel/ids.ts'
import { containsText } from '../request/contains-text.ts'
import { checkListId } from '../lists/lists.ts'
import { checkNewSender, requireSender } from '../domains/senders.ts'
import { lockQuotas, quotaExceeded } from '../quotas/require-quota.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { checkSegmentId } from '../segments/segments.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { campaigns } from '../db/schema/index.ts'
import type { Campaign, CampaignChange, CampaignInput, CampaignQuery, CampaignSummary } from './campaigns.schema.ts'
import { checkTemplates } from '../rendering/check-templates.ts'
import { plainTemplate } from '../rendering/template-sources.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'

export type CampaignRow = Omit<typeof campaigns.$inferSelect, 'bodyBytes'>
export type SummaryRow = Omit<CampaignRow, 'html' | 'text'>
const { html: _, text: __, bodyBytes: ___, ...columns } = getTableColumns(campaigns)
/** Without the templates, which may have 1 MiB each. */
export const summaryColumns = columns

const listNotFound = onConstraint('campaigns_list_fk', () => invalidField('listId', 'List not found'))
const segmentNotFound = onConstraint('campaigns_segment_fk', () => invalidField('segmentId', 'Segment not found'))

/** Creates a DRAFT. Without `html` and `text`, it gets a plain template that can be sent unchanged. */
export async function createCampaign(ctx: Ctx, input: CampaignInput): Promise<Campaign> {
  await checkTemplates(ctx, input)
  return storeCampaign(ctx, input)
}

/** The same for templates that were checked before the transaction: a check waits for its turn. */
export async function storeCampaign(ctx: Ctx, input: CampaignInput): Promise<Campaign> {
  await checkNewSender(ctx, input.fromEmail)
  await checkListId(ctx, input.listId)
  if (input.segmentId) await checkSegmentId(ctx, input.segmentId)
  const now = timestampNow()
  const campaign: CampaignRow = {
    workspaceId: ctx.workspaceId,
    id: newId('cmp'),
    listId: input.listId,
    segmentId: input.segmentId ?? null,
    name: input.name,
    subject: input.subject,
    status: 'DRAFT',
    html: input.html ?? (input.text ? null : plainTemplate),
    text: input.text ?? null,
    fromName: input.fromName ?? null,
    fromEmail: input.fromEmail ?? null,
    replyTo: input.replyTo ?? null,
    trackOpens: input.trackOpens ?? false,
    trackClicks: input.trackClicks ?? false,
    webVersion: input.webVersion ?? true,
    queued: 0,
    pauseReason: null,
    ratesAcceptedAt: null,
    createdAt: now,
    updatedAt: now,
    sentAt: null,
    completedAt: null,
  }
  await withinBodyQuota(ctx, (ctx) =>
    ctx.db.insert(campaigns).values(campaign).catch(listNotFound).catch(segmentNotFound),
  )
  return toCampaign(campaign)
}

/** Reads one campaign. */
export async function readCampaign(ctx: Ctx, id: CampaignId): Promise<Campaign> {
  const [row] = await ctx.db
    .select()
    .from(campaigns)
    .where(byId(campaigns, ctx, id))
  if (!row) throw notFound('Campaign')
  return toCampaign(row)
}

/** Reads one campaign without its templates. */
export async function readCampaignSummary(ctx: Ctx, id: CampaignId): Promise<CampaignSummary> {
  const [row] = await ctx.db
    .select(summaryColumns)
    .from(campaigns)
    .where(byId(campaigns, ctx, id))
  if (!row) throw notFound('Campaign')
  return toCampaignSummary(row)
}

/** Locks a campaign until the transaction ends. */
export async function lockCampaign(ctx: Ctx, id: CampaignId): Promise<CampaignRow> {
  const [row] = await ctx.db
    .select()
    .from(campaigns)
    .where(byId(campaigns, ctx, id))
    .for('no key update')
  if (!row) throw notFound('Campaign')
  return row
}

/** Lists a page of the workspace's campaigns, without their templates. */
export async function listCampaigns(ctx: Ctx, query: CampaignQuery): Promise<Page<CampaignSummary>> {
  const { status, listId, segmentId, search } = query
  const filters = [
    status && eq(campaigns.status, status),
    listId && eq(campaigns.listId, listId),
    segmentId && eq(campaigns.segmentId, segmentId),
    isCreatedInRange(campaigns, query),
    search === undefined
      ? undefined
      : or(containsText(campaigns.name, search), containsText(campaigns.subject, search)),
  ]
  const page = await readPage<SummaryRow>(ctx, {
    name: 'campaigns',
    query,
    ...byCreation<SummaryRow>(campaigns),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select(summaryColumns)
        .from(campaigns)
        .where(and(eq(campaigns.workspaceId, ctx.workspaceId), ...filters, after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toCampaignSummary) }
}

/**
 * Updates a DRAFT. Throws `wrong_state` if the campaign has any other status, unless only `webVersion` changes: a page that
 * should not be public can be switched off after the sending.
 */
export async function updateCampaign(ctx: Ctx, id: CampaignId, change: CampaignChange): Promise<Campaign> {
  await checkTemplates(ctx, change)
  return storeCampaignChange(ctx, id, change)
}

/** The same for a change whose templates were checked before the transaction: a check waits for its turn. */
export async function storeCampaignChange(ctx: Ctx, id: CampaignId, change: CampaignChange): Promise<Campaign> {
  await checkNewSender(ctx, change.fromEmail)
  if (change.listId) await checkListId(ctx, change.listId)
  if (change.segmentId) await checkSegmentId(ctx, change.segmentId)
  const write = async (ctx: Ctx) => {
    const current = await lockCampaign(ctx, id)
    const given = withoutUndefined(change)
    const isOfPage = Object.keys(given).join() === 'webVersion'
    if (current.status !== 'DRAFT' && !isOfPage) throw createNotDraftError(current, 'changed')
    const changed = { ...current, ...given }
    if (isDeepStrictEqual(changed, current)) return toCampaign(current)
    const updatedAt = timeOfUpdate(current.updatedAt)
    await ctx.db
      .update(campaigns)
      .set({ ...change, updatedAt })
      .where(byId(campaigns, ctx, id))
      .catch(listNotFound)
      .catch(segmentNotFound)
    return toCampaign({ ...changed, updatedAt })
  }
  return change.html || change.text ? withinBodyQuota(ctx, write) : inTransaction(ctx, write)
}

/** Runs a write that stores bodies. Throws `quota_exceeded`, and rolls back, if they exceed the quota. */
function withinBodyQuota<Result>(ctx: Ctx, write: (ctx: Ctx) => Promise<Result>): Promise<Result> {
  return inTransaction(ctx, async (ctx) => {
    const { campaignBytes: limit } = await lockQuotas(ctx)
    const result = await write(ctx)
    if (limit !== Infinity && (await measureBodies(ctx)) > limit) throw quotaExceeded('campaignBytes', limit)
    return result
  })
}

/** The bytes of `html` and `text` of all campaigns of the workspace. */
export async function measureBodies(ctx: Ctx): Promise<number> {
  const [row] = await ctx.db
    .select({ bytes: sql<number>`coalesce(sum(${campaigns.bodyBytes}), 0)::float8` })
    .from(campaigns)
    .where(eq(campaigns.workspaceId, ctx.workspaceId))
  return row?.bytes ?? 0
}

/** Deletes a DRAFT. Throws `wrong_state` for any other campaign: it is the record of the mails that were sent. */
export function deleteCampaign(ctx: Ctx, id: CampaignId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .delete(campaigns)
      .where(and(byId(campaigns, ctx, id), eq(campaigns.status, 'DRAFT')))
      .returning({ name: campaigns.name })
    if (!row) throw createNotDraftError(await readCampaignSummary(ctx, id), 'deleted')
    await audit(ctx, 'campaign.deleted', { subjectId: id, name: row.name })
  })
}

/**
 * Clears a segment that is about to be deleted from campaigns that have ended. Throws `in_use` if another campaign has
 * it. The caller has locked the segment.
 */
export async function detachSegment(ctx: Ctx, segmentId: SegmentId): Promise<void> {
  const hasSegment = and(eq(campaigns.workspaceId, ctx.workspaceId), eq(campaigns.segmentId, segmentId))
  const having = ctx.db
    .select({ name: campaigns.name, status: campaigns.status })
    .from(campaigns)
    .where(hasSegment)
    .orderBy(campaigns.id)
  // First without locks, as another request may hold one for long that is open.
  requireEnded(await having)
  // A retry may have made one SENDING again meanwhile.
  requireEnded(await having.for('no key update'))
  await ctx.db.update(campaigns).set({ segmentId: null }).where(hasSegment)
}

function requireEnded(found: readonly Pick<CampaignRow, 'name' | 'status'>[]): void {
  const open = found.find(({ status }) => ['DRAFT', 'SENDING', 'PAUSED'].includes(status))
  if (open) throw conflict('in_use', `The campaign "${open.name}", which is ${open.status}, has this segment`)
}

/** Creates the error for an operation that needs a DRAFT. */
export const createNotDraftError = (
  { status }: Pick<CampaignSummary, 'status'>,
  action: 'changed' | 'deleted' | 'sent',
) => conflict('wrong_state', `Only a DRAFT can be ${action}: this campaign is ${status}`)

export const createListDeletedError = () => conflict('wrong_state', 'The list of this campaign was deleted')

/** Throws as `requireSender` unless the workspace may send from the address of the campaign or template now. */
export async function requireSenderOf(ctx: Ctx, { fromEmail }: Pick<CampaignRow, 'fromEmail'>): Promise<void> {
  await requireSender(ctx, fromEmail ?? (await readWorkspace(ctx)).fromEmail)
}

export function toCampaign(row: CampaignRow): Campaign {
  return { ...toCampaignSummary(row), html: row.html, text: row.text }
}

export function toCampaignSummary(row: SummaryRow): CampaignSummary {
  return {
    id: row.id,
    name: row.name,
    subject: row.subject,
    listId: row.listId,
    segmentId: row.segmentId,
    status: row.status,
    fromName: row.fromName,
    fromEmail: row.fromEmail,
    replyTo: row.replyTo,
    trackOpens: row.trackOpens,
    trackClicks: row.trackClicks,
    webVersion: row.webVersion,
    queued: row.queued,
    pauseReason: row.pauseReason,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    sentAt: row.sentAt,
    completedAt: row.completedAt,
  }
}
