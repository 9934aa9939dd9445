import { stringify } from 'csv-stringify/sync'
import { Contact } from '../contacts.schema.ts'

/** In the order of the contact's own properties; the custom fields come last, with a column for each. */
const columns = (Object.keys(Contact.shape) as (keyof Contact)[]).filter((name) => name !== 'customFieldValues')

export function csvHeader(customFields: readonly string[]): string {
  return stringifyCsv([[...columns, ...customFields.map((key) => `customField.${key}`)]])
}

/** The contacts as CSV (RFC 4180). A cell that a spreadsheet would run as a formula gets an apostrophe before it. */
export function toCsv(contacts: readonly Contact[], customFields: readonly string[]): string {
  return stringifyCsv(
    contacts.map((contact) => [
      ...columns.map((name) => (name === 'tags' ? joinTags(contact.tags) : contact[name])),
      ...customFields.map((key) => customValueOf(contact, key)),
    ]),
  )
}

/** A key may be a name that every object inherits, such as "constructor". */
const customValueOf = ({ customFieldValues }: Contact, key: string) =>
  Object.hasOwn(customFieldValues, key) ? String(customFieldValues[key]) : null

/** An empty text is quoted, unlike a missing one. */
export const stringifyCsv = (rows: readonly (string | null)[][]) =>
  stringify([...rows], { escape_formulas: true, quoted_match: /^$/ })

/** By semicolons; a tag that holds a separator or a quotation mark is quoted as a cell would be. */
const joinTags = (tags: readonly string[]) =>
  tags.map((tag) => (/[",;]/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag)).join(';')
