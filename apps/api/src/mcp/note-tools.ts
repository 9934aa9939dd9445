import { createNote } from '@rapport/core/notes/create-note.ts'
import { namesRecord, Note, NoteInput, recordRequired } from '@rapport/core/notes/notes.schema.ts'
import { z } from 'zod'
import { defineTool } from './tool.ts'

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

export const noteTools = [create]
