import { isDeepStrictEqual } from 'node:util'
import { eq, isNotNull, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { lockContact } from '../contacts/lock-contact.ts'
import { lockContactOf, recordsOfContacts, withContactLocked } from '../contacts/records-of-contacts.ts'
import { touchLastActivity } from '../contacts/touch-last-activity.ts'
import { checkCustomValues } from '../custom-fields/check-custom-values.ts'
import { changeCustomValues } from '../custom-fields/custom-values.ts'
import { byId, isOneOf, lockInOrder } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { invalidField, notFound } from '../kernel/errors.ts'
import { changeWithEvents } from '../events/change-with-events.ts'
import { updatesFrom } from '../events/changes.ts'
import { emit, emitUpdates } from '../events/emit.ts'
import { type ContactId, type DealId, uuidOf } from '../kernel/ids.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { releaseNotesOfDeals } from '../notes/release-notes.ts'
import { lockStage } from '../pipelines/stages.ts'
import { timeAtLeast } from '../db/schema/columns.ts'
import { deals } from '../db/schema/index.ts'
import { type DealRow, toDeal } from './deal-record.ts'
import { type Deal, type DealChange } from './deals.schema.ts'
import { saveDeal } from './save-deal.ts'
import { dealDeleted, dealUpdated } from './deal-events.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

const dealRecords = recordsOfContacts(deals, { isOrphan: isNotNull(deals.contactErasedAt) })

export async function readDeal(ctx: Ctx, id: DealId): Promise<Deal> {
  const row = await dealRecords.find(ctx, id)
  if (!row) throw notFound('Deal')
  return toDeal(row)
}

/**
 * Updates the given fields, and merges `customFieldValues`: null removes a key. A deal that moves to another pipeline starts in its first stage by default. WON and LOST
 * set `closedAt`, OPEN clears it. Emits `deal.stage_changed` for another stage, `deal.won` or `deal.lost` when the deal
 * is closed, and `deal.updated` for all other changes, including reopening.
 */
export async function updateDeal(ctx: Ctx, id: DealId, change: DealChange): Promise<Deal> {
  const record = { of: dealRecords, id, otherContactId: change.contactId }
  const deal = await withContactLocked(ctx, record, async (ctx, current) => {
    const next = await applyChange(ctx, current, change)
    return toDeal(isDeepStrictEqual(next, current) ? current : await saveDeal(ctx, current, next))
  })
  if (!deal) throw notFound('Deal')
  return deal
}

/** Deletes a deal and its activity, and emits `deal.deleted`. */
export async function deleteDeal(ctx: Ctx, id: DealId): Promise<void> {
  const deal = await withContactLocked(ctx, { of: dealRecords, id }, async (ctx, row) => {
    await releaseNotesOfDeals(ctx, [id])
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
  const formerContactIds = sql`array_append(${deals.formerContactIds}, ${uuidOf(from)}::uuid)`
  const change = { contactId: to, formerContactIds, updatedAt: timeAtLeast(deals.updatedAt, timestampNow()) }
  const lockNext = lockInOrder(deals, ctx, eq(deals.contactId, from))
  await changeWithEvents({
    changeBatch: async (limit) =>
      await ctx.db
        .update(deals)
        .set(change)
        .where(isOneOf(deals, ctx, await lockNext(limit)))
        .returning(),
    emit: async (rows) => await emitUpdates(ctx, dealUpdated, updatesFrom(rows.map(toDeal), { contactId: from })),
  })
}

async function applyChange(ctx: Ctx, current: DealRow, change: DealChange): Promise<DealRow> {
  const { pipelineId = current.pipelineId, contactId = current.contactId } = change
  const stageId = change.stageId ?? (pipelineId === current.pipelineId ? current.stageId : undefined)
  const { customFieldValues = {}, ...properties } = change
  const values = changeCustomValues(current.customFieldValues, await checkCustomValues(ctx, 'DEAL', customFieldValues))
  const changed = { ...current, ...withoutUndefined(properties), customFieldValues: values }
  const next = applyLostReason(changed, change)
  const isGiven =
    change.contactId !== undefined && (contactId !== current.contactId || current.contactErasedAt !== null)
  // `saveDeal` checks the stage.
  if (stageId && !isGiven) return next
  const position = await lockStage(ctx, { pipelineId, stageId })
  if (!isGiven) return { ...next, ...position }
  await requireContact(ctx, contactId)
  const formerContactIds = [...new Set([...current.formerContactIds, current.contactId])]
  return { ...next, ...position, contactErasedAt: null, formerContactIds }
}

/** A reason belongs to a LOST deal: another status clears it. */
function applyLostReason(next: DealRow, change: DealChange): DealRow {
  if (next.status === 'LOST') return next
  if (change.lostReason) throw invalidField('lostReason', 'lostReason: is only allowed with status LOST')
  return { ...next, lostReason: null }
}

async function requireContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  if (!(await lockContact(ctx, contactId))) throw invalidField('contactId', 'Contact not found')
}

/** Locks the contact of a deal, and the one that it moves to, as every change of the deal does. */
export const lockDeal = (ctx: Ctx, id: DealId, otherContactId?: ContactId): Promise<void> =>
  lockContactOf(ctx, { of: dealRecords, id, otherContactId })
