import { getTableColumns } from 'drizzle-orm'
import { toTimestamp, toTimestampOrNull } from '../fields.ts'
import { contacts } from '../schema.ts'
import type { Contact } from './contacts.schema.ts'

export type ContactRow = Omit<typeof contacts.$inferSelect, 'workspaceId' | 'searchText'>

/** What is read of a contact: all but whose it is, which is known, and what is derived for the search. */
const { workspaceId: _, searchText: __, ...columns } = getTableColumns(contacts)
export const contactColumns = columns

/** A contact as the API shows it, field for field as specified. */
export function toContact(row: ContactRow): Contact {
  return {
    id: row.id,
    email: row.email,
    firstName: row.firstName,
    lastName: row.lastName,
    phone: row.phone,
    company: row.company,
    customFieldValues: row.customFieldValues,
    tags: row.tags,
    emailSubscribedStatus: row.emailSubscribedStatus,
    lastActivityAt: toTimestampOrNull(row.lastActivityAt),
    source: row.source,
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  }
}
