/** Converts the rows of a file to contacts, by the validation rules of `POST /contacts`. */
import { parse } from 'csv-parse/sync'
import { ContactInput } from '../contacts/contacts.schema.ts'
import { unescapeFormulas } from '../contacts/export/escape-formulas.ts'
import { type CustomFields, parseCustomValue } from '../custom-fields/custom-fields.ts'
import type { Issue } from '../kernel/errors.ts'
import { toIssues } from '../kernel/zod-messages.ts'
import type { FileRow } from './file/csv-rows.ts'
import { customPrefix, type Layout, toPrintable, readOnlyProperties } from './file/import-header.ts'
import { type DecimalMark, normalizeNumber } from './file/number-format.ts'

/**
 * The contact of a row, or why there is none; `column` is null if that concerns the whole row. No message contains a
 * value of the row. `writeContacts` checks the custom field values.
 */
export type ImportRow = { line: number; contact: ContactInput } | RowError
export interface RowError {
  line: number
  column: string | null
  message: string
}

/** How the values of a CSV are written. */
interface CsvFormat {
  layout: Layout
  fields: CustomFields
  /** The decimal mark of the columns with numbers, by position. */
  decimalMarks: ReadonlyMap<number, DecimalMark>
}

/** Converts a CSV row. Empty cells are ignored. */
export function parseCsvRow(row: FileRow<string[]>, { layout, fields, decimalMarks }: CsvFormat): ImportRow {
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
    if (column === null || cell.trim() === '') continue
    if (column === '') return rowError(line, `Column ${index + 1} has a value but no name in the header`)
    if (column === 'tags') properties['tags'] = splitTags(cell)
    else if (column === 'externalId') properties[column] = cell.trim()
    else if (!column.startsWith(customPrefix)) properties[column] = cell
    else {
      const key = column.slice(customPrefix.length)
      custom[key] = toCustomValue(cell, { key, fields, decimalMark: decimalMarks.get(index) })
    }
  }
  return toContact(line, { ...properties, customFieldValues: custom })
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

/** Converts a JSON value. The read-only properties of an export are ignored. */
export function parseJsonRow(row: FileRow<unknown>): ImportRow {
  if ('error' in row) return rowError(row.line, row.error)
  const { line, content } = row
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return rowError(line, 'Row is not a JSON object')
  const properties: Record<string, unknown> = { ...content }
  const custom = properties['customFieldValues']
  for (const property of readOnlyProperties) delete properties[property]
  if (!isStorable(content) || (typeof custom === 'object' && custom !== null && !isStorable(custom)))
    return rowError(line, 'Row contains an unpaired surrogate or the key "__proto__"')
  return toContact(line, properties)
}

const rowError = (line: number, message: string): RowError => ({ line, column: null, message })

function toContact(line: number, properties: Record<string, unknown>): ImportRow {
  const { data: contact, error } = ContactInput.safeParse(properties)
  return contact ? { line, contact } : toRowError(line, toIssues(error))
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
