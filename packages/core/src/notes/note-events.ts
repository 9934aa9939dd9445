import { defineUpdate } from '../events/changes.ts'
import { defineEvent } from '../events/event-definition.ts'
import { Note } from './notes.schema.ts'

export const noteCreated = defineEvent('note.created', Note)
export const noteUpdated = defineUpdate('note.updated', Note, {
  body: 'Asked for an offer for 30 seats.',
  updatedAt: '2026-11-21T06:41:12.804Z',
})
export const noteDeleted = defineEvent('note.deleted', Note)
