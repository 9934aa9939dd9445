import { createNote } from '@rapport/core/notes/create-note.ts'
import { listNotes } from '@rapport/core/notes/list-notes.ts'
import { deleteNote, lockNote, readNote, updateNote } from '@rapport/core/notes/notes.ts'
import { Note, NoteChange, NoteInput, NoteQuery } from '@rapport/core/notes/notes.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ifMatch, recordById } from '../http/conditional-requests/if-match.ts'
import { idempotent } from '../http/handlers/idempotency.ts'
import { Empty, IdParams } from './shapes.ts'

const common = { tags: ['Notes'], security: [{ bearer: [] }] }
const params = IdParams('nte')
const currentNote = recordById(Note, { lock: lockNote, read: readNote })

export const noteRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/notes',
    {
      schema: {
        ...common,
        operationId: 'notes.create',
        summary: 'Create a note',
        description:
          'Writes down a note, a call or a meeting. A note about a deal is about the contact of the deal too, unless another contact is given. Emits `note.created`. A contact, company or deal with 10,000 notes gets no more: 409 `quota_exceeded`.',
        body: NoteInput,
        response: { 201: Note },
      },
    },
    idempotent(async (request, reply) => {
      const note = await createNote(request.ctx, request.body)
      reply.code(201).header('location', `/notes/${note.id}`)
      return note
    }),
  )

  app.get(
    '/notes',
    {
      schema: {
        ...common,
        operationId: 'notes.list',
        summary: 'List notes',
        description: 'Returns the notes that match all filters, newest first.',
        querystring: NoteQuery,
        response: { 200: PageOf(Note) },
      },
    },
    (request) => listNotes(request.ctx, request.query),
  )

  app.get(
    '/notes/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'notes.get',
        summary: 'Retrieve a note',
        description: 'Returns the note.',
        params,
        response: { 200: Note },
      },
    },
    (request) => readNote(request.ctx, request.params.id),
  )

  app.patch(
    '/notes/:id',
    {
      schema: {
        ...common,
        operationId: 'notes.update',
        summary: 'Update a note',
        description:
          'Changes the kind, the text or the time. What the note is about never changes: delete it and create another. Emits `note.updated`. A no-op update emits no event.',
        params,
        body: NoteChange,
        response: { 200: Note },
      },
    },
    ifMatch(currentNote, (request) => updateNote(request.ctx, request.params.id, request.body)),
  )

  app.delete(
    '/notes/:id',
    {
      schema: {
        ...common,
        operationId: 'notes.delete',
        summary: 'Delete a note',
        description: 'Emits `note.deleted`.',
        params,
        response: { 204: Empty },
      },
    },
    ifMatch(currentNote, async (request, reply) => {
      await deleteNote(request.ctx, request.params.id)
      reply.code(204)
      return null
    }),
  )
}
