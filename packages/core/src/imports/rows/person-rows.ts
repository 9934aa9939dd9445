/**
 * The one reader of a row of a file of contacts. It says whom the row is about and what it says about emails, although other
 * values may be wrong, and then, if it is asked, the contact as `POST /contacts` checks it.
 */
import type { LinkedInput } from '../../contacts/merge-contact.ts'
import type { CustomFields } from '../../custom-fields/custom-fields.ts'
import type { FileStatus, Layout } from '../../db/schema/imports.ts'
import { Email } from '../../kernel/validation.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { keyProperties, readOnlyProperties } from '../columns/match-columns.ts'
import type { FileRow } from '../file/csv-rows.ts'
import { ImportedExternalId } from '../words/keys.ts'
import type { DecimalMark } from '../words/number-format.ts'
import { ofHeadersOnly } from '../words/status-columns.ts'
import { createCellReader, readKey } from './cell-values.ts'
import { type NamedCompany, readContactInput } from './contact-values.ts'
import { isSaid, parseStatus, type RowStatus } from './row-status.ts'
import { type ContactValues, type RowError, rowError, type RowValues, type Values } from './row-values.ts'

export interface Reading {
  layout: Layout | null
  fields: CustomFields
  decimalMarks?: ReadonlyMap<number, DecimalMark>
  /** The statuses that the request or the header gives. */
  ofEveryRow?: readonly FileStatus[]
}

export interface PersonRow {
  line: number
  /** The keys that can be read. */
  email: string | undefined
  externalId: string | undefined
  /** Undefined if neither the row nor the request says anything. */
  status: RowStatus | undefined
  readContact: () => ImportRow
}

/** A row with its contact. The warnings are about values that cannot be read, and are left out. */
export interface ValidRow {
  line: number
  contact: LinkedInput
  company?: NamedCompany | undefined
  status?: RowStatus | undefined
  warnings?: RowError[]
}
export type ImportRow = ValidRow | RowError

export function personReader(reading: Reading): (row: FileRow<unknown>) => PersonRow | RowError {
  const { layout, fields, decimalMarks = new Map(), ofEveryRow = [] } = reading
  const readValues = layout ? createCellReader({ layout, fields, decimalMarks }) : readObject
  return (row) => {
    const { line } = row
    if ('error' in row) return rowError(line, { message: row.error })
    const values = readValues(row.content)
    if (!values) return rowError(line, { message: 'Row is not a JSON object' })
    const { said } = values
    const { status, issues, warnings } = parseStatus(said, ofEveryRow)
    const externalId = ImportedExternalId.safeParse(said['externalId'])
    const wrong = externalId.error
      ? [{ path: 'externalId', message: toIssues(externalId.error)[0]?.message ?? '' }]
      : issues
    return {
      line,
      email: Email.safeParse(said['email']).data,
      externalId: externalId.data ?? undefined,
      status,
      readContact() {
        const given = values.readContact()
        if ('issue' in given) return rowError(line, given.issue)
        const [issue] = wrong
        const read = issue ? { issue } : readContactInput(given.values, fields)
        if ('issue' in read) return rowError(line, read.issue)
        const { contact, company } = read
        const told = [...given.warnings, ...warnings, ...read.warnings].map((one) => rowError(line, one))
        return { line, contact, ...(company && { company }), status, ...(told.length > 0 && { warnings: told }) }
      },
    }
  }
}

export function contactReader(reading: Reading): (row: FileRow<unknown>) => ImportRow {
  const readPerson = personReader(reading)
  return (row) => {
    const person = readPerson(row)
    return 'message' in person ? person : person.readContact()
  }
}

/** Reads the properties of a JSON object; undefined if the value is none. The read-only properties of an export are ignored. */
function readObject(content: unknown): RowValues | undefined {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return undefined
  const [said, contact]: [Values, Values] = [{}, {}]
  for (const [name, given] of Object.entries(content)) {
    if (readOnlyProperties.includes(name)) continue
    const isKey = keyProperties.includes(name)
    const isStatus = isSaid(name) && !ofHeadersOnly.includes(name)
    const value: unknown = isKey && typeof given === 'string' && given !== '' ? readKey(name, given) : given
    if (isKey || isStatus) said[name] = value
    if (!isStatus) contact[name] = value
  }
  return { said, readContact: () => toContactValues(content, contact) }
}

function toContactValues(content: object, values: Values): ContactValues {
  const custom = values['customFieldValues']
  if (!isStorable(content) || (typeof custom === 'object' && custom !== null && !isStorable(custom)))
    return { issue: { message: 'Row contains an unpaired surrogate or the key "__proto__"' } }
  return { values, warnings: [] }
}

/** Whether the object has no unpaired surrogates and no key `__proto__`, which JSON allows but contacts cannot store. */
function isStorable(object: object): boolean {
  if (Object.hasOwn(object, '__proto__')) return false
  const texts = Object.values(object).flat()
  return texts.every((value) => typeof value !== 'string' || value.isWellFormed())
}
