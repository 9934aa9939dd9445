import { stringify } from 'csv-stringify/sync'
import { Contact } from '../contacts.schema.ts'
import { escapeFormulas } from './escape-formulas.ts'

/** The contact's properties in schema order. Custom fields follow, one column each. */
const columns = (Object.keys(Contact.shape) as (keyof Contact)[]).filter((name) => name !== 'customFieldValues')

export function csvHeader(customFields: readonly string[]): string {
  return stringifyCsv([[...columns, ...customFields.map((key) => `customField.${key}`)]])
}

/**
 * Formats contacts as CSV (RFC 4180). An apostrophe precedes everything that a spreadsheet would run as a formula.
 */
export function toCsv(contacts: readonly Contact[], customFields: readonly string[]): string {
  return stringifyCsv(
    contacts.map((contact) => [
      ...columns.map((name) => (name === 'tags' ? joinTags(contact.tags) : contact[name])),
      ...customFields.map((key) => customValueOf(contact, key)),
    ]),
  )
}

/** A key may equal an inherited name such as "constructor". */
const customValueOf = ({ customFieldValues }: Contact, key: string) =>
  Object.hasOwn(customFieldValues, key) ? String(customFieldValues[key]) : null

/** Quotes empty text to distinguish it from a missing value. */
export const stringifyCsv = (rows: readonly (string | null)[][]) =>
  stringify(
    rows.map((cells) => cells.map((cell) => cell && escapeFormulas(cell))),
    { quoted_match: /^$/ },
  )

/** Joins tags with semicolons; a tag that contains a separator or a quotation mark is quoted like a cell. */
const joinTags = (tags: readonly string[]) =>
  tags.map((tag) => (/[",;]/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag)).join(';')
