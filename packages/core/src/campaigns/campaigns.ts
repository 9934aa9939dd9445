import { and, eq, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { AppError, conflict, invalidField, notFound, onConstraint } from '../kernel/errors.ts'
import { emit } from '../events/emit.ts'
import { toTimestamp, toTimestampOrNull } from '../kernel/validation.ts'
import { type CampaignId, type ContactId, newId, uuidOf } from '../kernel/ids.ts'
import { checkListId, holdList } from '../lists/lists.ts'
import { checkSender } from '../mail/senders.ts'
import { enqueueMany, originOf } from '../jobs/outbox.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import type { Contact } from '../contacts/contacts.schema.ts'
import { campaigns } from '../db/schema/index.ts'
import {
  type Campaign,
  type CampaignChange,
  type CampaignInput,
  type CampaignQuery,
  type SendResult,
} from './campaigns.schema.ts'
import { checkTemplates } from './templates/rendering.ts'
import { plainTemplate } from './templates/template-sources.ts'
import { readContact } from '../contacts/read-contact.ts'
import { campaignSending } from './campaign-events.ts'

export type CampaignRow = typeof campaigns.$inferSelect

/** So many people make one job: few enough that a batch ends soon, enough that a million make few jobs. */
const batchSize = 200

const listNotFound = onConstraint('campaigns_list_fk', () => invalidField('listId', 'List not found'))

/** Creates a DRAFT. With neither `html` nor `text` it starts from a plain template, so that it can be sent as it is. */
export async function createCampaign(ctx: Ctx, input: CampaignInput): Promise<Campaign> {
  await checkTemplates(ctx.workspaceId, input)
  checkSender(ctx, input.fromEmail)
  await checkListId(ctx, input.listId)
  const now = new Date()
  const campaign: CampaignRow = {
    workspaceId: ctx.workspaceId,
    id: newId('cmp'),
    listId: input.listId,
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
    queued: 0,
    pauseReason: null,
    createdAt: now,
    updatedAt: now,
    sentAt: null,
    completedAt: null,
  }
  await ctx.db.insert(campaigns).values(campaign).catch(listNotFound)
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

/** A page of the workspace's campaigns. */
export async function listCampaigns(ctx: Ctx, query: CampaignQuery): Promise<Page<Campaign>> {
  const page = await readPage<CampaignRow>(ctx, {
    name: 'campaigns',
    query,
    ...byCreation<CampaignRow>(campaigns),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(campaigns)
        .where(and(eq(campaigns.workspaceId, ctx.workspaceId), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toCampaign) }
}

/** Changes a DRAFT; anything else is a conflict. */
export async function changeCampaign(ctx: Ctx, id: CampaignId, change: CampaignChange): Promise<void> {
  await checkTemplates(ctx.workspaceId, change)
  checkSender(ctx, change.fromEmail)
  if (change.listId) await checkListId(ctx, change.listId)
  const [row] = await ctx.db
    .update(campaigns)
    .set({ ...change, updatedAt: new Date() })
    .where(and(byId(campaigns, ctx, id), eq(campaigns.status, 'DRAFT')))
    .returning({ id: campaigns.id })
    .catch(listNotFound)
  if (!row) throw await notADraft(ctx, id, 'changed')
}

/** Deletes a DRAFT; anything else is a conflict, as it is a record of what was sent to whom. */
export function deleteCampaign(ctx: Ctx, id: CampaignId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .delete(campaigns)
      .where(and(byId(campaigns, ctx, id), eq(campaigns.status, 'DRAFT')))
      .returning({ name: campaigns.name })
    if (!row) throw await notADraft(ctx, id, 'deleted')
    await audit(ctx, 'campaign.deleted', { subjectId: id, name: row.name })
  })
}

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

/** The contact that a body names: one that is not there is invalid. */
export async function findNamedContact(ctx: Ctx, contactId: ContactId): Promise<Contact> {
  return readContact(ctx, contactId).catch((error: unknown) => {
    throw error instanceof AppError ? invalidField('contactId', 'Contact not found') : error
  })
}

async function snapshotAudience(ctx: Ctx, campaign: CampaignRow): Promise<number> {
  if (campaign.listId === null || !(await holdList(ctx, campaign.listId))) return 0
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

async function notADraft(ctx: Ctx, id: CampaignId, what: 'changed' | 'deleted' | 'sent') {
  const { status } = await readCampaign(ctx, id)
  return conflict(`Only a DRAFT can be ${what}: this campaign is ${status}`)
}

export function toCampaign(row: CampaignRow): Campaign {
  return {
    id: row.id,
    name: row.name,
    subject: row.subject,
    listId: row.listId,
    status: row.status,
    html: row.html,
    text: row.text,
    fromName: row.fromName,
    fromEmail: row.fromEmail,
    replyTo: row.replyTo,
    trackOpens: row.trackOpens,
    trackClicks: row.trackClicks,
    queued: row.queued,
    pauseReason: row.pauseReason,
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
    sentAt: toTimestampOrNull(row.sentAt),
    completedAt: toTimestampOrNull(row.completedAt),
  }
}
