/** The values of a row by the names of their properties, not checked yet: from the cells of a CSV or a JSON object. */
import { parse } from 'csv-parse/sync'
import { unescapeFormulas } from '../../contacts/export/escape-formulas.ts'
import { type CustomFields, parseCustomValue } from '../../custom-fields/custom-fields.ts'
import type { Layout } from '../../db/schema/imports.ts'
import type { FileRow } from '../file/csv-rows.ts'
import { customPrefix, readOnlyProperties } from '../file/match-columns.ts'
import { type DecimalMark, normalizeNumber } from '../file/number-format.ts'
import { isZeroDate, parseMoment } from './file-moment.ts'
import { parseAttributes } from './row-attributes.ts'
import { unwrapAddress } from './row-address.ts'
import { type RowError, rowError } from './row-errors.ts'
import { statusProperties } from './row-status.ts'
import { isStatusColumn, ofHeadersOnly } from './status-columns.ts'
import { isBroken, isMissing, readYesNo } from './yes-no-words.ts'

export type Values = Record<string, unknown>

/** The values of a contact, and warnings about those that cannot be read. */
export interface ContactValues {
  values: Values
  warnings: RowError[]
}

/** The values of a row in two parts, so that an error in one of them does not hide what the other one says. */
export interface RowValues {
  line: number
  /** The keys of the person, and what the row says about emails. */
  said: Values
  /** All values of the contact, with its keys. Read when they are needed. */
  readContact: () => ContactValues | RowError
}

/** How the values of a CSV are written. */
export interface CsvFormat {
  layout: Layout
  fields: CustomFields
  /** The decimal mark of the columns with numbers, by position. */
  decimalMarks: ReadonlyMap<number, DecimalMark>
}

const keys = ['email', 'externalId']
const isKey = (name: string) => keys.includes(name)
const saidNames = new Set([...keys, ...statusProperties])
const isSaid = (name: string) => saidNames.has(name)

/** Reads the cells of a CSV row. Empty cells are ignored, except those of a status. */
export function readCells(row: FileRow<string[]>, format: CsvFormat): RowValues | RowError {
  if ('error' in row) return rowError(row.line, row.error)
  const { line, content: cells } = row
  const { columns } = format.layout
  const said: Values = {}
  for (const [index, column] of columns.entries()) {
    if (column === null || !isSaid(column)) continue
    // What was said stays as it is: a date in a column that was too narrow is an opt-out, too.
    const cell = readText(cells, index)
    if (isStatusColumn(column)) said[column] = [...((said[column] as string[] | undefined) ?? []), cell]
    else if (isKey(column)) said[column] = readKey(column, cell)
    else if (cell.trim() !== '') said[column] = cell
  }
  return { line, said, readContact: () => readContactCells(row, format, said) }
}

function readContactCells(
  { line, content: cells }: { line: number; content: string[] },
  { layout, fields, decimalMarks }: CsvFormat,
  said: Values,
): ContactValues | RowError {
  const { columns } = layout
  // Spreadsheets add or drop empty cells at the end of a row.
  if (cells.slice(columns.length).some((cell) => cell.trim() !== ''))
    return rowError(line, `Row has ${cells.length} cells, but the header has ${columns.length}`)
  const values: Values = onlyKeys(said)
  const custom: Values = {}
  const tags: string[] = []
  const warnings: RowError[] = []
  for (const [index, column] of columns.entries()) {
    if (column === null || isSaid(column)) continue
    const cell = readCell(cells, index)
    if (cell.trim() === '') continue
    if (column === '') return rowError(line, `Column ${index + 1} has a value but no name in the header`)
    if (column === 'tags') tags.push(...splitTags(cell))
    else if (column === 'listmonk.attributes') {
      const { values, unknown, warning } = parseAttributes(cell, fields)
      if (unknown !== undefined && !layout.ignoresUnknown) return { line, column, message: unknown }
      if (warning !== undefined) warnings.push({ line, column, message: warning })
      Object.assign(custom, values)
    } else if (!column.startsWith(customPrefix)) values[column] = cell
    else {
      const key = column.slice(customPrefix.length)
      custom[key] = toCustomValue(cell, { key, fields, decimalMark: decimalMarks.get(index) })
    }
  }
  return { values: { ...values, ...(tags.length > 0 && { tags }), customFieldValues: custom }, warnings }
}

const onlyKeys = (said: Values): Values =>
  Object.fromEntries(Object.entries(said).filter(([name, value]) => isKey(name) && value !== undefined))

const readText = (cells: readonly string[], index: number) => unescapeFormulas(unwrapText(cells[index] ?? ''))

function readCell(cells: readonly string[], index: number): string {
  const cell = readText(cells, index)
  return isBroken(cell) ? '' : cell
}

/** Undefined for a key that is missing: as a text such as `NULL` it would be one of several people. */
const readKey = (column: string, cell: string) =>
  isMissing(cell) ? undefined : column === 'email' ? unwrapAddress(cell) : cell.trim()

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
  if (type === 'BOOLEAN') return readYesNo(cell) ?? cell
  // A date of zeros is none.
  if (type === 'DATE') return isZeroDate(cell) ? undefined : (parseMoment(cell)?.toISOString().slice(0, 10) ?? cell)
  return parseCustomValue(fields, key, type === 'TEXT' ? cell : cell.trim())
}

/** Splits tags at semicolons, commas or line breaks. A quoted tag may contain them, as in an export. */
function splitTags(cell: string): string[] {
  const listed = unwrapList(cell)
  const tags = listed.includes('"') ? splitQuotedTags(listed) : listed.split(/[;,\r\n]/)
  return tags.map((tag) => tag.trim()).filter((tag) => tag !== '')
}

const maxListLength = 50_000

/** Programs write an array as JSON, as Python or as PostgreSQL: `["a","b"]`, `['a', 'b']`, `{a,b}`. */
function unwrapList(cell: string): string {
  const list = /^\s*[[{](.*)[\]}]\s*$/s.exec(cell)?.[1]
  if (list === undefined) return cell.trim().toLowerCase() === 'null' ? '' : cell
  // A tag may have brackets.
  const isList = list.trim() === '' || /["']/.test(list) || (list.includes(',') && !list.includes(';'))
  // Longer than all tags that a contact can have.
  if (!isList || list.length > maxListLength) return cell
  return list.replaceAll(/(?<=^|[,;]\s{0,9})'([^']*)'(?=\s{0,9}(?:[,;]|$))/g, '"$1"')
}

function splitQuotedTags(cell: string): string[] {
  try {
    return parse(cell, { delimiter: [';', ','], trim: true, relax_quotes: true, relax_column_count: true }).flat()
  } catch {
    return cell.split(/[;,\r\n]/)
  }
}

/** Reads a JSON value. The read-only properties of an export are ignored. */
export function readObject(row: FileRow<unknown>): RowValues | RowError {
  if ('error' in row) return rowError(row.line, row.error)
  const { line, content } = row
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return rowError(line, 'Row is not a JSON object')
  const [said, contact]: [Values, Values] = [{}, {}]
  for (const [name, given] of Object.entries(content)) {
    if (readOnlyProperties.includes(name)) continue
    const value: unknown = isKey(name) && typeof given === 'string' && given !== '' ? readKey(name, given) : given
    if (isSaid(name) && !ofHeadersOnly.includes(name)) said[name] = value
    if (!isSaid(name) || isKey(name) || ofHeadersOnly.includes(name)) contact[name] = value
  }
  return { line, said, readContact: () => readContactObject(line, content, contact) }
}

function readContactObject(line: number, content: object, values: Values): ContactValues | RowError {
  const custom = values['customFieldValues']
  if (!isStorable(content) || (typeof custom === 'object' && custom !== null && !isStorable(custom)))
    return rowError(line, 'Row contains an unpaired surrogate or the key "__proto__"')
  return { values, warnings: [] }
}

/**
 * Whether the object has no unpaired surrogates and no key `__proto__`, which JSON allows but contacts cannot store.
 */
function isStorable(object: object): boolean {
  if (Object.hasOwn(object, '__proto__')) return false
  const texts = Object.values(object).flat()
  return texts.every((value) => typeof value !== 'string' || value.isWellFormed())
}
