import { createNote } from '@rapport/core/notes/create-note.ts'
import { listNotes } from '@rapport/core/notes/list-notes.ts'
import { namesRecord, Note, NoteInput, NoteQuery, recordRequired } from '@rapport/core/notes/notes.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import { z } from 'zod'
import { defineTool, newestFirst, pageInput, reads } from './tool.ts'

const { contactId, companyId, dealId } = NoteQuery.shape

const list = defineTool({
  name: 'list_notes',
  operations: ['notes.list'],
  title: 'List notes',
  description: 'Returns the notes that match all filters, newest first.',
  role: 'VIEWER',
  annotations: reads,
  input: z.strictObject({ contactId, companyId, dealId, ...pageInput }),
  output: PageOf(Note),
  run: (ctx, input) => listNotes(ctx, { ...input, ...newestFirst }),
})

const create = defineTool({
  name: 'create_note',
  operations: ['notes.create'],
  title: 'Create a note',
  description: 'Creates a note about a contact, company or deal.',
  role: 'MEMBER',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject(NoteInput.shape).refine(namesRecord, recordRequired),
  output: z.object({ note: Note }),
  run: async (ctx, input) => ({ note: await createNote(ctx, input) }),
})

export const noteTools = [list, create]
