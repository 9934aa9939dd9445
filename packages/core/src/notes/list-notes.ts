import { and, eq, type SQL } from 'drizzle-orm'
import { readContact } from '../contacts/read-contact.ts'
import { notes } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange, isInRange } from '../request/time-range.ts'
import { type NoteRow, toNote } from './note-record.ts'
import type { Note, NoteQuery } from './notes.schema.ts'

/** Returns a page of the notes that match every filter. */
export function listNotes(ctx: Ctx, query: NoteQuery): Promise<Page<Note>> {
  return readNotePage(ctx, 'notes', query)
}

export async function listNotesOfContact(
  ctx: Ctx,
  contactId: ContactId,
  query: Pick<NoteQuery, 'limit' | 'cursor' | 'sort'>,
): Promise<Page<Note>> {
  await readContact(ctx, contactId)
  return readNotePage(ctx, `notes ${contactId}`, { ...query, contactId })
}

async function readNotePage(ctx: Ctx, name: string, query: NoteQuery): Promise<Page<Note>> {
  const { key, id } = query.sort.endsWith('occurredAt') ? byOccurrence : byCreation<NoteRow>(notes)
  const page = await readPage<NoteRow>(ctx, {
    name,
    query,
    key,
    id,
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(notes)
        .where(and(noteFilter(ctx, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toNote) }
}

const byOccurrence = {
  key: { column: notes.occurredAt, type: 'timestamptz', valueOf: (row: NoteRow) => row.occurredAt },
  id: { column: notes.id, valueOf: (row: NoteRow) => row.id },
} as const

function noteFilter(ctx: Ctx, query: NoteQuery): SQL | undefined {
  return and(
    eq(notes.workspaceId, ctx.workspaceId),
    query.contactId ? eq(notes.contactId, query.contactId) : undefined,
    query.companyId ? eq(notes.companyId, query.companyId) : undefined,
    query.dealId ? eq(notes.dealId, query.dealId) : undefined,
    query.kind ? eq(notes.kind, query.kind) : undefined,
    query.authorId ? eq(notes.authorId, query.authorId) : undefined,
    isCreatedInRange(notes, query),
    isInRange(notes.occurredAt, { after: query.occurredAfter, before: query.occurredBefore }),
  )
}
