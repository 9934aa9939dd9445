/** Reads the rows of a file: whom each is about, what it says about emails, and its contact as `POST /contacts` checks it. */
import { Email } from '../../kernel/validation.ts'
import type { ContactInput } from '../../contacts/contacts.schema.ts'
import type { CustomFields } from '../../custom-fields/custom-fields.ts'
import type { FileStatus } from '../../db/schema/imports.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { type RowError, toRowError } from './row-errors.ts'
import type { NamedCompany } from './company-values.ts'
import { ImportedExternalId } from './external-id.ts'
import { readContactInput } from './contact-values.ts'
import { parseStatus, type RowStatus } from './row-status.ts'
import type { RowValues } from './row-values.ts'

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

/** A row with its contact, or why there is none. The warnings are about values that cannot be read, and are left out. */
export type ImportRow =
  | {
      line: number
      contact: ContactInput
      company?: NamedCompany | undefined
      status?: RowStatus | undefined
      warnings?: RowError[]
    }
  | RowError

/** `ofEveryRow` are the statuses that the request or the header gives. */
export function readPerson(row: RowValues | RowError, { ofEveryRow = [], fields }: Reading = {}): PersonRow | RowError {
  if ('message' in row) return row
  const { line, said } = row
  const { status, issues, warnings } = parseStatus(said, ofEveryRow)
  const externalId = ImportedExternalId.safeParse(said['externalId'])
  return {
    line,
    email: Email.safeParse(said['email']).data,
    externalId: externalId.data ?? undefined,
    status,
    readContact() {
      const contact = row.readContact()
      if (!('values' in contact)) return contact
      const wrong = externalId.error
        ? [{ path: 'externalId', message: toIssues(externalId.error)[0]?.message ?? '' }]
        : issues
      if (wrong.length > 0) return toRowError(line, wrong)
      const read = readContactInput(contact.values, fields)
      if ('issue' in read) return toRowError(line, [read.issue])
      const all = [...warnings, ...read.warnings].map((issue) => toRowError(line, [issue]))
      const { contact: input, company } = read
      return { line, contact: input, ...(company && { company }), status, ...asWarnings([...contact.warnings, ...all]) }
    },
  }
}

interface Reading {
  ofEveryRow?: readonly FileStatus[]
  /** Without them, `writeContacts` alone checks the values of custom fields. */
  fields?: CustomFields | undefined
}

const asWarnings = (warnings: RowError[]) => (warnings.length > 0 ? { warnings } : {})

/** Reads a row as a whole. */
export function readImportRow(row: RowValues | RowError, reading?: Reading): ImportRow {
  const person = readPerson(row, reading)
  return 'message' in person ? person : person.readContact()
}
