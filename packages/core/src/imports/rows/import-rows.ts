/** Converts the rows of a file to contacts, by the validation rules of `POST /contacts`. */
import { parse } from 'csv-parse/sync'
import { Email } from '../../kernel/validation.ts'
import { ContactInput } from '../../contacts/contacts.schema.ts'
import { unescapeFormulas } from '../../contacts/export/escape-formulas.ts'
import { ExternalId } from '../../contacts/identity/external-id.ts'
import { type CustomFields, parseCustomValue } from '../../custom-fields/custom-fields.ts'
import type { FileStatus, Layout } from '../../db/schema/imports.ts'
import type { Issue } from '../../kernel/errors.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { toPrintable } from '../file/column-names.ts'
import type { FileRow } from '../file/csv-rows.ts'
import { customPrefix, readOnlyProperties } from '../file/match-columns.ts'
import { type DecimalMark, normalizeNumber } from '../file/number-format.ts'
import type { OptOutStatus } from './file-status.ts'
import { parseAttributes } from './row-attributes.ts'
import {
  columnsOfSources,
  isStatusColumn,
  parseStatus,
  readOptOuts,
  type RowStatus,
  splitStatus,
  statusColumns,
} from './row-status.ts'

/**
 * The contact of a row, or why there is none; `column` is null if that concerns the whole row. No message contains a
 * value of the row. `writeContacts` checks the custom field values.
 */
export type ImportRow = { line: number; contact: ContactInput; status?: RowStatus | undefined } | RowError
export interface RowError {
  line: number
  column: string | null
  message: string
}

/** What a row says against emails to a person. */
export interface OptOutRow {
  email: string | undefined
  externalId: string | undefined
  statuses: OptOutStatus[]
  at: Date | undefined
}

/** The properties of a row, which are not checked yet. */
type RowProperties = { line: number; properties: Record<string, unknown> } | RowError

/** How the values of a CSV are written. */
export interface CsvFormat {
  layout: Layout
  fields: CustomFields
  /** The decimal mark of the columns with numbers, by position. */
  decimalMarks: ReadonlyMap<number, DecimalMark>
}

/** Reads the cells of a CSV row. Empty cells are ignored, except those of a status. */
export function readCsvRow(row: FileRow<string[]>, { layout, fields, decimalMarks }: CsvFormat): RowProperties {
  if ('error' in row) return rowError(row.line, row.error)
  const { line, content: cells } = row
  const { columns } = layout
  // Spreadsheets add or drop empty cells at the end of a row.
  if (cells.slice(columns.length).some((cell) => cell.trim() !== ''))
    return rowError(line, `Row has ${cells.length} cells, but the header has ${columns.length}`)
  const properties: Record<string, unknown> = {}
  const custom: Record<string, unknown> = {}
  for (const [index, column] of columns.entries()) {
    const cell = unescapeFormulas(unwrapText(cells[index] ?? ''))
    if (column === null || (cell.trim() === '' && !isStatusColumn(column))) continue
    if (column === '') return rowError(line, `Column ${index + 1} has a value but no name in the header`)
    if (column === 'tags') properties['tags'] = splitTags(cell)
    else if (column === 'externalId') properties[column] = cell.trim()
    else if (column === 'listmonk.attributes') {
      const attributes = parseAttributes(cell, { fields, ignoresUnknown: layout.ignoresUnknown ?? false })
      if (typeof attributes === 'string') return { line, column, message: attributes }
      Object.assign(custom, attributes)
    } else if (!column.startsWith(customPrefix)) properties[column] = cell
    else {
      const key = column.slice(customPrefix.length)
      custom[key] = toCustomValue(cell, { key, fields, decimalMark: decimalMarks.get(index) })
    }
  }
  return { line, properties: { ...properties, customFieldValues: custom } }
}

/** Programs write `="0049"` so that a spreadsheet keeps the zeros of a text. */
function unwrapText(cell: string): string {
  const text = /^\s*="(.*)"\s*$/s.exec(cell)?.[1]
  return text === undefined ? cell : text.replaceAll('""', '"')
}

function toCustomValue(
  cell: string,
  { key, fields, decimalMark }: { key: string; fields: CustomFields; decimalMark: DecimalMark | undefined },
): unknown {
  const type = fields.get(key)?.type
  if (type === 'NUMBER' && decimalMark) return parseCustomValue(fields, key, normalizeNumber(cell, decimalMark) ?? cell)
  return parseCustomValue(fields, key, type === 'TEXT' ? cell : cell.trim())
}

/**
 * Leaves in a layout only the columns that `toOptOutRow` reads, so that no other cell makes an error of the row: it would
 * hide an opt-out.
 */
export function toOptOutLayout(layout: Layout): Layout {
  const isRead = (column: string | null) => column !== null && optOutProperties.includes(column)
  return { ...layout, columns: layout.columns.map((column) => (isRead(column) ? column : null)) }
}

/** The same for the cells of a row: what is beyond the header may be an error, but hides no opt-out. */
export function toOptOutCells(row: FileRow<string[]>, { columns }: Layout): FileRow<string[]> {
  return 'error' in row ? row : { ...row, content: row.content.slice(0, columns.length) }
}

/** The same for a JSON value. */
export function toOptOutProperties(row: FileRow<unknown>): FileRow<unknown> {
  if ('error' in row || typeof row.content !== 'object' || row.content === null) return row
  const read = Object.entries(row.content).filter(([name]) => optOutProperties.includes(name))
  return { ...row, content: Object.fromEntries(read) }
}

const optOutProperties = ['email', 'externalId', 'unsubscribedAt', ...statusColumns]

/** Reads a JSON value. By default, the read-only properties of an export are ignored. */
export function readJsonRow(row: FileRow<unknown>, ignored: readonly string[] = readOnlyProperties): RowProperties {
  if ('error' in row) return rowError(row.line, row.error)
  const { line, content } = row
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return rowError(line, 'Row is not a JSON object')
  const properties: Record<string, unknown> = { ...content }
  const custom = properties['customFieldValues']
  for (const property of ignored) delete properties[property]
  if (!isStorable(content) || (typeof custom === 'object' && custom !== null && !isStorable(custom)))
    return rowError(line, 'Row contains an unpaired surrogate or the key "__proto__"')
  const ofSource = columnsOfSources.find((column) => Object.hasOwn(properties, column))
  if (ofSource !== undefined) return { line, column: ofSource, message: 'unknown field' }
  return { line, properties }
}

const rowError = (line: number, message: string): RowError => ({ line, column: null, message })

/** Checks the properties of a row. `ofEveryRow` are the statuses that the request or the header gives. */
export function toImportRow(row: RowProperties, ofEveryRow: readonly FileStatus[] = []): ImportRow {
  if ('message' in row) return row
  const { line, properties } = row
  const { given, contact: named } = splitStatus(properties)
  const result = parseStatus(given, ofEveryRow)
  if ('issues' in result) return toRowError(line, result.issues)
  if (!['string', 'undefined'].includes(typeof (named['name'] ?? undefined)))
    return toRowError(line, [{ path: 'name', message: 'must be a string' }])
  const { data: contact, error } = ContactInput.safeParse(splitName(named))
  return contact ? { line, contact, status: result.status } : toRowError(line, toIssues(error))
}

/** Reads from a row only what stands against emails. Undefined if nothing does, or if it has no key of a contact. */
export function toOptOutRow(row: RowProperties, ofEveryRow: readonly FileStatus[]): OptOutRow | undefined {
  if ('message' in row) return undefined
  const { given, contact } = splitStatus(row.properties)
  const { statuses, at } = readOptOuts(given, ofEveryRow)
  if (statuses.length === 0) return undefined
  const email = Email.safeParse(contact['email']).data
  const externalId = ExternalId.safeParse(contact['externalId']).data
  return email === undefined && externalId === undefined ? undefined : { email, externalId, statuses, at }
}

/** Splits `name` at its first space. First and last names of their own take precedence. */
function splitName({ name, ...properties }: Record<string, unknown>): Record<string, unknown> {
  if (typeof name !== 'string') return properties
  const [, firstName = '', lastName] = /^\s*(\S*)(?:\s+(.*))?$/s.exec(name) ?? []
  return { firstName, ...(lastName && { lastName }), ...properties }
}

/** The first issue of a row, as its error. */
export function toRowError(line: number, [issue]: readonly Issue[]): RowError {
  const { path = null, message = 'is invalid' } = issue ?? {}
  return { line, column: path === null ? null : toPrintable(path), message }
}

/** Splits tags at semicolons or commas. A quoted tag may contain either, as in an export. */
function splitTags(cell: string): string[] {
  const tags = cell.includes('"') ? splitQuotedTags(cell) : cell.split(/[;,]/)
  return tags.map((tag) => tag.trim()).filter((tag) => tag !== '')
}

function splitQuotedTags(cell: string): string[] {
  try {
    return parse(cell, { delimiter: [';', ','], trim: true, relax_quotes: true, relax_column_count: true }).flat()
  } catch {
    return cell.split(/[;,]/)
  }
}

/**
 * Whether the object has no unpaired surrogates and no key `__proto__`, which JSON allows but contacts cannot store.
 */
function isStorable(object: object): boolean {
  if (Object.hasOwn(object, '__proto__')) return false
  const texts = Object.values(object).flat()
  return texts.every((value) => typeof value !== 'string' || value.isWellFormed())
}
