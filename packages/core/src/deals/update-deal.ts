import { isDeepStrictEqual } from 'node:util'
import { and, eq, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { withContactLocked, lockContact } from '../contacts/lock-contact.ts'
import { touchLastActivity } from '../contacts/update-contact.ts'
import type { Ctx } from '../request/context.ts'
import { invalidField, notFound } from '../kernel/errors.ts'
import { emit } from '../events/emit.ts'
import { newId } from '../kernel/ids.ts'
import { lockStage } from '../pipelines/stages.ts'
import { dealMoves, deals } from '../db/schema/index.ts'
import { type DealRow, toDeal } from './deal-record.ts'
import { type Deal, type DealChange } from './deals.schema.ts'
import { dealDeleted, dealLost, dealStageChanged, dealUpdated, dealWon } from './deal-events.ts'

/** Reads one deal. */
export async function readDeal(ctx: Ctx, id: string): Promise<Deal> {
  const row = await findDeal(ctx, id)
  if (!row) throw notFound('Deal')
  return toDeal(row)
}

/**
 * Sets what the change names. In another pipeline a deal begins in the first stage, unless one is named. WON and LOST
 * set `closedAt`, OPEN clears it. Each thing that changes is told once: another stage by `deal.stage_changed`, a win or
 * a loss by `deal.won` or `deal.lost`, and all else, reopening too, by `deal.updated`.
 */
export async function changeDeal(ctx: Ctx, id: string, change: DealChange): Promise<Deal> {
  const record = { id, find: findDeal, otherContactId: change.contactId }
  const deal = await withContactLocked(ctx, record, async (ctx, current) => {
    const next = await changed(ctx, current, change)
    if (isDeepStrictEqual(next, current)) return toDeal(current)
    const row = await writeDeal(ctx, current, next)
    await touchLastActivity(ctx, row.contactId)
    await recordMove(ctx, current, row)
    await tellChange(ctx, current, row)
    return toDeal(row)
  })
  if (!deal) throw notFound('Deal')
  return deal
}

/** Removes a deal and its history, and tells `deal.deleted`. */
export async function deleteDeal(ctx: Ctx, id: string): Promise<void> {
  const deal = await withContactLocked(ctx, { id, find: findDeal }, async (ctx, row) => {
    await ctx.db.delete(deals).where(matches(ctx, id))
    await touchLastActivity(ctx, row.contactId)
    await emit(ctx, dealDeleted, toDeal(row))
    await audit(ctx, 'deal.deleted', { subjectId: id })
    return row
  })
  if (!deal) throw notFound('Deal')
}

/** Moves the deals of one contact to another, who is to be the same person. Both are locked. */
export async function moveDeals(ctx: Ctx, contacts: { from: string; to: string }): Promise<void> {
  await ctx.db
    .update(deals)
    .set({ contactId: contacts.to, updatedAt: sql`clock_timestamp()` })
    .where(and(eq(deals.workspaceId, ctx.workspaceId), eq(deals.contactId, contacts.from)))
}

/** Deletes the deals of a locked contact. */
export async function deleteDealsOfContact(ctx: Ctx, contactId: string): Promise<void> {
  await ctx.db.delete(deals).where(and(eq(deals.workspaceId, ctx.workspaceId), eq(deals.contactId, contactId)))
}

async function changed(ctx: Ctx, current: DealRow, change: DealChange): Promise<DealRow> {
  const { pipelineId = current.pipelineId, contactId = current.contactId } = change
  const stageId = change.stageId ?? (pipelineId === current.pipelineId ? current.stageId : undefined)
  const isElsewhere = pipelineId !== current.pipelineId || stageId !== current.stageId
  const place = isElsewhere ? await lockStage(ctx, { pipelineId, stageId }) : current
  if (contactId !== current.contactId) await requireContact(ctx, contactId)
  return {
    ...current,
    pipelineId: place.pipelineId,
    stageId: place.stageId,
    contactId,
    name: change.name ?? current.name,
    valueCents: change.valueCents ?? current.valueCents,
    status: change.status ?? current.status,
  }
}

/** By the clock and not by the transaction's beginning, so that changes which waited for each other follow in time. */
async function writeDeal(ctx: Ctx, current: DealRow, next: DealRow): Promise<DealRow> {
  const { pipelineId, stageId, contactId, name, valueCents, status } = next
  const closedAt = status === 'OPEN' ? null : sql`clock_timestamp()`
  const [row] = await ctx.db
    .update(deals)
    .set({
      pipelineId,
      stageId,
      contactId,
      name,
      valueCents,
      ...(status !== current.status && { status, closedAt }),
      updatedAt: sql`clock_timestamp()`,
    })
    .where(matches(ctx, current.id))
    .returning()
  if (!row) throw notFound('Deal')
  return row
}

/** Keeps that the deal went to another stage or status, if it did. */
async function recordMove(ctx: Ctx, from: DealRow, to: DealRow): Promise<void> {
  if (from.stageId === to.stageId && from.status === to.status) return
  const { actor } = ctx
  await ctx.db.insert(dealMoves).values({
    workspaceId: ctx.workspaceId,
    id: newId('mov'),
    dealId: to.id,
    fromPipelineId: from.pipelineId,
    fromStageId: from.stageId,
    fromStatus: from.status,
    toPipelineId: to.pipelineId,
    toStageId: to.stageId,
    toStatus: to.status,
    userId: actor.kind === 'user' ? actor.userId : null,
    apiKeyId: actor.kind === 'apiKey' ? actor.apiKeyId : null,
    createdAt: to.updatedAt,
  })
}

async function tellChange(ctx: Ctx, before: DealRow, after: DealRow): Promise<void> {
  const deal = toDeal(after)
  const isReopened = after.status === 'OPEN' && before.status !== 'OPEN'
  const isUpdated =
    after.name !== before.name || after.valueCents !== before.valueCents || after.contactId !== before.contactId
  if (isUpdated || isReopened) await emit(ctx, dealUpdated, deal)
  if (after.stageId !== before.stageId) {
    const previous = { previousPipelineId: before.pipelineId, previousStageId: before.stageId }
    await emit(ctx, dealStageChanged, { ...deal, ...previous })
  }
  if (after.status === before.status || after.status === 'OPEN') return
  await emit(ctx, after.status === 'WON' ? dealWon : dealLost, deal)
}

async function requireContact(ctx: Ctx, contactId: string): Promise<void> {
  if (!(await lockContact(ctx, contactId))) throw invalidField('contactId', 'Contact not found')
}

async function findDeal(ctx: Ctx, id: string): Promise<DealRow | undefined> {
  const [row] = await ctx.db.select().from(deals).where(matches(ctx, id))
  return row
}

function matches(ctx: Ctx, id: string) {
  return and(eq(deals.workspaceId, ctx.workspaceId), eq(deals.id, id))
}
