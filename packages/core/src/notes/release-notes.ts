/** What happens to notes when a record that they name is merged or deleted. */
import { and, eq, inArray, isNull, type SQL } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { timeAtLeast } from '../db/schema/columns.ts'
import { notes } from '../db/schema/index.ts'
import { changeWithEvents } from '../events/change-with-events.ts'
import { updatesFrom } from '../events/changes.ts'
import { emitMany, emitUpdates } from '../events/emit.ts'
import type { CompanyId, ContactId, DealId } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { isOneOf, lockInOrder } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { noteDeleted, noteUpdated } from './note-events.ts'
import { type NoteRow, toNote } from './note-record.ts'

/** Moves the notes of a locked contact to another locked contact, and emits `note.updated` for each. */
export async function moveNotes(ctx: Ctx, { from, to }: { from: ContactId; to: ContactId }): Promise<void> {
  await updateAll(ctx, eq(notes.contactId, from), { from: { contactId: from }, to: { contactId: to } })
}

/** Deletes the notes of a locked contact, and emits `note.deleted` for each. */
export async function deleteNotesOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  await deleteAll(ctx, eq(notes.contactId, contactId))
}

/**
 * Deletes the notes that name only these deals, and removes the deals from the others, with an event for each. Call it in
 * the transaction that deletes the deals, with the deals locked.
 */
export async function releaseNotesOfDeals(ctx: Ctx, ids: readonly DealId[]): Promise<void> {
  const ofDeals = and(eq(notes.workspaceId, ctx.workspaceId), inArray(notes.dealId, ids))
  const named = await ctx.db.selectDistinct({ dealId: notes.dealId }).from(notes).where(ofDeals)
  for (const { dealId } of named) {
    const others = [notes.contactId, notes.companyId]
    if (dealId) await release(ctx, eq(notes.dealId, dealId), { former: { dealId }, others })
  }
}

/**
 * Deletes the notes that name only the company, and removes the company from the others, with an event for each. Call it
 * in the transaction that deletes the company, with the company locked.
 */
export async function releaseNotesOfCompany(ctx: Ctx, companyId: CompanyId): Promise<void> {
  await release(ctx, eq(notes.companyId, companyId), { former: { companyId }, others: [notes.contactId, notes.dealId] })
}

type Reference = Partial<Pick<NoteRow, 'contactId' | 'companyId' | 'dealId'>>

async function release(
  ctx: Ctx,
  where: SQL,
  { former, others }: { former: { companyId: CompanyId } | { dealId: DealId }; others: readonly AnyPgColumn[] },
): Promise<void> {
  await deleteAll(ctx, and(where, ...others.map((column) => isNull(column))))
  await updateAll(ctx, where, { from: former, to: 'dealId' in former ? { dealId: null } : { companyId: null } })
}

/** Replaces a reference in all notes that have it. */
async function updateAll(ctx: Ctx, where: SQL, { from, to }: { from: Reference; to: Reference }): Promise<void> {
  const change = { ...to, updatedAt: timeAtLeast(notes.updatedAt, timestampNow()) }
  const lockNext = lockInOrder(notes, ctx, where)
  await changeWithEvents({
    changeBatch: async (limit) =>
      await ctx.db
        .update(notes)
        .set(change)
        .where(isOneOf(notes, ctx, await lockNext(limit)))
        .returning(),
    emit: async (rows) => await emitUpdates(ctx, noteUpdated, updatesFrom(rows.map(toNote), from)),
  })
}

async function deleteAll(ctx: Ctx, where: SQL | undefined): Promise<void> {
  const lockNext = lockInOrder(notes, ctx, where)
  await changeWithEvents({
    changeBatch: async (limit) =>
      await ctx.db
        .delete(notes)
        .where(isOneOf(notes, ctx, await lockNext(limit)))
        .returning(),
    emit: async (rows) => await emitMany(ctx, noteDeleted, rows.map(toNote)),
  })
}
