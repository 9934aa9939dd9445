import { isDeepStrictEqual } from 'node:util'
import { and, eq, inArray } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { withContactLocked, lockContact, lockContactOf } from '../contacts/lock-contact.ts'
import { touchLastActivity } from '../contacts/touch-last-activity.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { invalidField, notFound } from '../kernel/errors.ts'
import { changeWithEvents } from '../events/change-with-events.ts'
import { emit } from '../events/emit.ts'
import { type ContactId, type DealId, newId } from '../kernel/ids.ts'
import { timeOfUpdate } from '../kernel/time-of-update.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { lockStage } from '../pipelines/stages.ts'
import { updateStatement } from '../db/json-rows.ts'
import { timeAtLeast } from '../db/schema/columns.ts'
import { dealMoves, deals } from '../db/schema/index.ts'
import { type DealRow, toDeal } from './deal-record.ts'
import { type Deal, type DealChange } from './deals.schema.ts'
import { dealDeleted, dealLost, dealStageChanged, dealUpdated, dealWon } from './deal-events.ts'

export async function readDeal(ctx: Ctx, id: DealId): Promise<Deal> {
  const row = await findDeal(ctx, id)
  if (!row) throw notFound('Deal')
  return toDeal(row)
}

/**
 * Updates the given fields. A deal that moves to another pipeline starts in its first stage by default. WON and LOST
 * set `closedAt`, OPEN clears it. Emits `deal.stage_changed` for another stage, `deal.won` or `deal.lost` when the deal
 * is closed, and `deal.updated` for all other changes, including reopening.
 */
export async function updateDeal(ctx: Ctx, id: DealId, change: DealChange): Promise<Deal> {
  const record = { id, find: findDeal, otherContactId: change.contactId }
  const deal = await withContactLocked(ctx, record, async (ctx, current) => {
    const next = await applyChange(ctx, current, change)
    if (isDeepStrictEqual(next, current)) return toDeal(current)
    const saved = await saveDeal(ctx, current, next)
    await touchLastActivity(ctx, saved.contactId)
    await recordMove(ctx, current, saved)
    await emitDealEvents(ctx, current, saved)
    return toDeal(saved)
  })
  if (!deal) throw notFound('Deal')
  return deal
}

/** Deletes a deal and its activity, and emits `deal.deleted`. */
export async function deleteDeal(ctx: Ctx, id: DealId): Promise<void> {
  const deal = await withContactLocked(ctx, { id, find: findDeal }, async (ctx, row) => {
    await ctx.db.delete(deals).where(byId(deals, ctx, id))
    await touchLastActivity(ctx, row.contactId)
    await emit(ctx, dealDeleted, toDeal(row))
    await audit(ctx, 'deal.deleted', { subjectId: id })
    return row
  })
  if (!deal) throw notFound('Deal')
}

/** Moves the deals of a locked contact to another locked contact, and emits `deal.updated` for each. */
export async function moveDeals(ctx: Ctx, { from, to }: { from: ContactId; to: ContactId }): Promise<void> {
  const change = { contactId: to, updatedAt: timeAtLeast(deals.updatedAt, new Date()) }
  await changeWithEvents(ctx, {
    changeBatch: (limit) =>
      ctx.db
        .update(deals)
        .set(change)
        .where(isAmongFirst(ctx, { contactId: from, limit }))
        .returning(),
    event: dealUpdated,
    toData: toDeal,
  })
}

/** Deletes the deals of a locked contact, and emits `deal.deleted` for each. */
export async function deleteDealsOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  await changeWithEvents(ctx, {
    changeBatch: (limit) => ctx.db.delete(deals).where(isAmongFirst(ctx, { contactId, limit })).returning(),
    event: dealDeleted,
    toData: toDeal,
  })
}

/** Matches the first `limit` deals of a contact. */
function isAmongFirst(ctx: Ctx, { contactId, limit }: { contactId: ContactId; limit: number }) {
  const ofWorkspace = eq(deals.workspaceId, ctx.workspaceId)
  const ofContact = and(ofWorkspace, eq(deals.contactId, contactId))
  const first = ctx.db.select({ id: deals.id }).from(deals).where(ofContact).limit(limit)
  return and(ofWorkspace, inArray(deals.id, first))
}

async function applyChange(ctx: Ctx, current: DealRow, change: DealChange): Promise<DealRow> {
  const { pipelineId = current.pipelineId, contactId = current.contactId } = change
  const stageId = change.stageId ?? (pipelineId === current.pipelineId ? current.stageId : undefined)
  const isMoving = pipelineId !== current.pipelineId || stageId !== current.stageId
  const position = isMoving ? await lockStage(ctx, { pipelineId, stageId }) : current
  if (contactId !== current.contactId) await requireContact(ctx, contactId)
  return { ...current, ...withoutUndefined(change), pipelineId: position.pipelineId, stageId: position.stageId }
}

async function saveDeal(ctx: Ctx, current: DealRow, next: DealRow): Promise<DealRow> {
  const now = timeOfUpdate(current.updatedAt)
  const closedAt = next.status === 'OPEN' ? null : now
  const saved = { ...next, closedAt: next.status === current.status ? next.closedAt : closedAt, updatedAt: now }
  await updateRow(ctx.db, saved)
  return saved
}

const updateRow = updateStatement(deals)

/** Records a move if the stage or the status changed. */
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

async function emitDealEvents(ctx: Ctx, before: DealRow, after: DealRow): Promise<void> {
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

async function requireContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  if (!(await lockContact(ctx, contactId))) throw invalidField('contactId', 'Contact not found')
}

/** Locks the contact of a deal, as every change of the deal does, until the transaction ends. */
export const lockDeal = (ctx: Ctx, id: DealId): Promise<void> => lockContactOf(ctx, { id, find: findDeal })

async function findDeal(ctx: Ctx, id: DealId): Promise<DealRow | undefined> {
  const [row] = await ctx.db
    .select()
    .from(deals)
    .where(byId(deals, ctx, id))
  return row
}
