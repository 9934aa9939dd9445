import { getTableColumns } from 'drizzle-orm'
import { sortByKey } from '../custom-fields/custom-values.ts'
import { contacts } from '../db/schema/index.ts'
import type { Contact } from './contacts.schema.ts'

const { searchText: _, ...columns } = getTableColumns(contacts)

/** All columns except the generated `searchText`. */
export const contactColumns = columns

export type ContactRow = Omit<typeof contacts.$inferSelect, 'searchText'>

/** Converts a row to the shape used in responses, events and exports. */
export function toContact(row: ContactRow): Contact {
  return {
    id: row.id,
    email: row.email,
    firstName: row.firstName,
    lastName: row.lastName,
    phone: row.phone,
    company: row.company,
    customFieldValues: sortByKey(row.customFieldValues),
    tags: row.tags,
    emailSubscribedStatus: row.emailSubscribedStatus,
    lastActivityAt: row.lastActivityAt,
    source: row.source,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    externalId: row.externalId,
    locale: row.locale,
    companyId: row.companyId,
  }
}
