import { isDeepStrictEqual } from 'node:util'
import { isNull } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { lockContactOf, recordsOfContacts, withContactLocked } from '../contacts/records-of-contacts.ts'
import { touchLastActivity } from '../contacts/touch-last-activity.ts'
import { updateStatement } from '../db/json-rows.ts'
import { notes } from '../db/schema/index.ts'
import { emit, emitUpdates } from '../events/emit.ts'
import { notFound } from '../kernel/errors.ts'
import type { NoteId } from '../kernel/ids.ts'
import { maxNoteBytes, requireSize } from '../kernel/stored-size.ts'
import { timeOfUpdate } from '../kernel/values/timestamps.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { noteDeleted, noteUpdated } from './note-events.ts'
import { type NoteRow, toNote } from './note-record.ts'
import type { Note, NoteChange } from './notes.schema.ts'

const noteRecords = recordsOfContacts(notes, { isOrphan: isNull(notes.contactId) })

export async function readNote(ctx: Ctx, id: NoteId): Promise<Note> {
  const row = await noteRecords.find(ctx, id)
  if (!row) throw notFound('Note')
  return toNote(row)
}

/** Updates the given fields and emits `note.updated`. */
export async function updateNote(ctx: Ctx, id: NoteId, change: NoteChange): Promise<Note> {
  const note = await withContactLocked(ctx, { of: noteRecords, id }, async (ctx, current) => {
    const next: NoteRow = { ...current, ...withoutUndefined(change) }
    requireSize('body', next.body, maxNoteBytes)
    if (isDeepStrictEqual(next, current)) return toNote(current)
    const saved = { ...next, updatedAt: timeOfUpdate(current.updatedAt) }
    await updateRow(ctx.db, saved)
    if (saved.contactId) await touchLastActivity(ctx, saved.contactId)
    await emitUpdates(ctx, noteUpdated, [{ before: toNote(current), after: toNote(saved) }])
    return toNote(saved)
  })
  if (!note) throw notFound('Note')
  return note
}

const updateRow = updateStatement(notes)

/** Deletes a note and emits `note.deleted`. */
export async function deleteNote(ctx: Ctx, id: NoteId): Promise<void> {
  const note = await withContactLocked(ctx, { of: noteRecords, id }, async (ctx, row) => {
    await ctx.db.delete(notes).where(byId(notes, ctx, id))
    if (row.contactId) await touchLastActivity(ctx, row.contactId)
    await emit(ctx, noteDeleted, toNote(row))
    await audit(ctx, 'note.deleted', { subjectId: id })
    return row
  })
  if (!note) throw notFound('Note')
}

/** Locks the contact of a note, and the note, as every change of the note does, until the transaction ends. */
export const lockNote = (ctx: Ctx, id: NoteId): Promise<void> => lockContactOf(ctx, { of: noteRecords, id })
