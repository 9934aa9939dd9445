/** Reads the rows of a file: whom each is about, what it says about emails, and its contact as `POST /contacts` checks it. */
import { Email } from '../../kernel/validation.ts'
import { ContactInput } from '../../contacts/contacts.schema.ts'
import { ExternalId } from '../../contacts/identity/external-id.ts'
import type { FileStatus } from '../../db/schema/imports.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { type RowError, toRowError } from './row-errors.ts'
import { parseStatus, type RowStatus } from './row-status.ts'
import type { RowValues, Values } from './row-values.ts'

/** What a row says about emails to a person, although its other values may be wrong. */
export interface PersonRow {
  line: number
  /** The keys that can be read. */
  email: string | undefined
  externalId: string | undefined
  /** Undefined if neither the row nor the request says anything. */
  status: RowStatus | undefined
  /** `writeContacts` checks the custom field values. */
  readContact: () => ImportRow
}

/** A row with its contact, or why there is none. */
export type ImportRow = { line: number; contact: ContactInput; status?: RowStatus | undefined } | RowError

/** `ofEveryRow` are the statuses that the request or the header gives. */
export function readPerson(row: RowValues | RowError, ofEveryRow: readonly FileStatus[] = []): PersonRow | RowError {
  if ('message' in row) return row
  const { line, said } = row
  const { status, issues } = parseStatus(said, ofEveryRow)
  return {
    line,
    email: Email.safeParse(said['email']).data,
    externalId: ExternalId.safeParse(said['externalId']).data,
    status,
    readContact() {
      const contact = row.readContact()
      if (!('values' in contact)) return contact
      return issues.length > 0 ? toRowError(line, issues) : toImportRow(line, contact.values, status)
    },
  }
}

/** Reads a row as a whole. */
export function readImportRow(row: RowValues | RowError, ofEveryRow: readonly FileStatus[] = []): ImportRow {
  const person = readPerson(row, ofEveryRow)
  return 'message' in person ? person : person.readContact()
}

function toImportRow(line: number, values: Values, status: RowStatus | undefined): ImportRow {
  if (!['string', 'undefined'].includes(typeof (values['name'] ?? undefined)))
    return toRowError(line, [{ path: 'name', message: 'must be a string' }])
  const { data: contact, error } = ContactInput.safeParse(splitName(values))
  return contact ? { line, contact, status } : toRowError(line, toIssues(error))
}

/** Splits `name` at its first space. First and last names of their own take precedence. */
function splitName({ name, ...properties }: Values): Values {
  if (typeof name !== 'string') return properties
  const [, firstName = '', lastName] = /^\s*(\S*)(?:\s+(.*))?$/s.exec(name) ?? []
  return { firstName, ...(lastName && { lastName }), ...properties }
}
