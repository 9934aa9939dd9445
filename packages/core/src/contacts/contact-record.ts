import { getTableColumns, sql } from 'drizzle-orm'
import { timestampOf, toTimestamp, toTimestampOrNull } from '../kernel/validation.ts'
import { idOf } from '../kernel/ids.ts'
import { contacts } from '../db/schema/index.ts'
import { Contact } from './contacts.schema.ts'

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

/** A contact that is not there yet, as text, without its end (`endOfJson`): when it was made, only the statement that makes it knows. */
export function beginningOfJson(row: Omit<ContactRow, 'createdAt' | 'updatedAt'>): string {
  const never = new Date(0)
  const { createdAt: _, updatedAt: __, ...shown } = toContact({ ...row, createdAt: never, updatedAt: never })
  return JSON.stringify(shown).slice(0, -1)
}

/** A contact `c` as the driver reads it: for what is asked all the time and only shown, where Drizzle's work on each value would be most of it. */
export type ReadContact = Contact
export const readColumns = sql.raw(
  Object.keys(Contact.shape)
    .map((name) => `c.${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)} as "${name}"`)
    .join(', '),
)

/** The same as `toContact`. */
export function showContact(read: ReadContact): Contact {
  return {
    id: idOf('con', read.id),
    email: read.email,
    firstName: read.firstName,
    lastName: read.lastName,
    phone: read.phone,
    company: read.company,
    customFieldValues: read.customFieldValues,
    tags: read.tags,
    emailSubscribedStatus: read.emailSubscribedStatus,
    lastActivityAt: read.lastActivityAt && timestampOf(read.lastActivityAt),
    source: read.source,
    createdAt: timestampOf(read.createdAt),
    updatedAt: timestampOf(read.updatedAt),
  }
}
