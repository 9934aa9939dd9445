import type { notes } from '../db/schema/index.ts'
import type { Note } from './notes.schema.ts'

export type NoteRow = typeof notes.$inferSelect

export function toNote(row: NoteRow): Note {
  return {
    id: row.id,
    kind: row.kind,
    body: row.body,
    occurredAt: row.occurredAt,
    contactId: row.contactId,
    companyId: row.companyId,
    dealId: row.dealId,
    authorId: row.authorId,
    apiKeyId: row.apiKeyId,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}
