/** What happens to the deals of a person who is erased. */
import { and, eq, isNull } from 'drizzle-orm'
import { withoutTexts } from '../custom-fields/without-texts.ts'
import { timeAtLeast } from '../db/schema/columns.ts'
import { deals } from '../db/schema/index.ts'
import { changeWithEvents } from '../events/change-with-events.ts'
import type { Update } from '../events/changes.ts'
import { emitErasures, emitMany } from '../events/emit.ts'
import { redactEventsOfDeals } from '../events/redact-events.ts'
import { type ContactId, idOf } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { releaseNotesOfDeals } from '../notes/release-notes.ts'
import { isOneOf, lockInOrder } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { dealDeleted, dealUpdated } from './deal-events.ts'
import { type DealRow, toDeal } from './deal-record.ts'
import type { Deal } from './deals.schema.ts'

/**
 * Deletes the OPEN deals without a company of a locked contact that is erased, and empties the others of the person: what
 * the workspace has earned stays, and what it may earn from a company. Emits `deal.deleted` or `deal.updated` for each.
 */
export async function eraseDealsOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  await deleteOpenDeals(ctx, contactId)
  const lockNext = lockInOrder(deals, ctx, and(eq(deals.contactId, contactId), isNull(deals.contactErasedAt)))
  await changeWithEvents({
    changeBatch: async (limit) => await emptyDeals(ctx, await lockNext(limit)),
    emit: async (erasures) => await emitErasures(ctx, dealUpdated, erasures),
  })
}

async function deleteOpenDeals(ctx: Ctx, contactId: ContactId): Promise<void> {
  const where = and(eq(deals.contactId, contactId), eq(deals.status, 'OPEN'), isNull(deals.companyId))
  const lockNext = lockInOrder(deals, ctx, where)
  await changeWithEvents({
    changeBatch: async (limit) => {
      // Locked before their notes are released, so that they get no more.
      const uuids = await lockNext(limit)
      await releaseNotesOfDeals(
        ctx,
        uuids.map((uuid) => idOf('dea', uuid)),
      )
      return await ctx.db
        .delete(deals)
        .where(isOneOf(deals, ctx, uuids))
        .returning()
    },
    emit: async (rows) => {
      await redactFormerEvents(ctx, rows)
      await emitMany(ctx, dealDeleted, rows.map(toDeal))
    },
  })
}

async function emptyDeals(ctx: Ctx, uuids: readonly string[]): Promise<readonly Update<Deal>[]> {
  const isEmptied = isOneOf(deals, ctx, uuids)
  const found = await ctx.db.select().from(deals).where(isEmptied)
  if (found.length === 0) return []
  await redactFormerEvents(ctx, found)
  const now = timestampNow()
  const formerById = new Map(found.map((row) => [row.id, row]))
  const customFieldValues = await withoutTexts(ctx, 'DEAL', deals.customFieldValues)
  const emptied = await ctx.db
    .update(deals)
    .set({
      name: '',
      customFieldValues,
      formerContactIds: [],
      contactErasedAt: now,
      updatedAt: timeAtLeast(deals.updatedAt, now),
    })
    .where(isEmptied)
    .returning()
  return emptied.map((row) => ({ before: toDeal(formerById.get(row.id) ?? row), after: toDeal(row) }))
}

/** Redacts the events of deals from before they came to the contact. The worker redacts its timeline: see `erase-contact.ts`. */
async function redactFormerEvents(ctx: Ctx, rows: readonly Pick<DealRow, 'id' | 'formerContactIds'>[]): Promise<void> {
  const moved = rows.filter(({ formerContactIds }) => formerContactIds.length > 0)
  if (moved.length === 0) return
  const contactIds = [...new Set(moved.flatMap(({ formerContactIds }) => formerContactIds))]
  await redactEventsOfDeals(ctx, { dealIds: moved.map(({ id }) => id), contactIds })
}
