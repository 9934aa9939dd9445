/** The values of a row of CSV: its cells, as programs write values into them. */
import { parse } from 'csv-parse/sync'
import { type CustomFields, parseCustomValue } from '../../custom-fields/custom-fields.ts'
import type { Layout } from '../../db/schema/imports.ts'
import { isExactNumber } from '../../kernel/values/exact-number.ts'
import { customPrefix, findCustomField, keyProperties } from '../columns/match-columns.ts'
import { readCell } from '../words/cells.ts'
import { isZeroDate, parseDate } from '../words/file-moment.ts'
import { unwrapAddress } from '../words/keys.ts'
import { toPrintable } from '../words/names.ts'
import { type DecimalMark, normalizeNumber } from '../words/number-format.ts'
import { isStatusColumn } from '../words/status-columns.ts'
import { isBroken, isHidden, isMissing, notShown, readYesNo } from '../words/yes-no-words.ts'
import { isSaid } from './row-status.ts'
import type { ContactValues, RowIssue, RowValues, Values } from './row-values.ts'

interface CellReading {
  layout: Layout
  fields: CustomFields
  decimalMarks: ReadonlyMap<number, DecimalMark>
}

/** Empty cells are ignored, except those of a status. */
export function createCellReader(reading: CellReading): (content: unknown) => RowValues {
  const named = reading.layout.columns.flatMap((column, index) => (column === null ? [] : [{ column, index }]))
  const keys = named.filter(({ column }) => keyProperties.includes(column))
  const statuses = named.filter(({ column }) => isSaid(column))
  const others = named.filter((one) => !keys.includes(one) && !statuses.includes(one))
  return (content) => {
    const cells = (content as string[]).map(readCell)
    const said: Values = {}
    const warnings: RowIssue[] = []
    for (const { column, index } of keys) {
      const cell = cells[index] ?? ''
      if (isHidden(cell)) warnings.push({ path: column, message: notShown })
      said[column] = readKey(column, cell)
    }
    for (const { column, index } of statuses) {
      // What was said stays as it is: a date in a column that was too narrow is an opt-out, too.
      const cell = cells[index] ?? ''
      if (isStatusColumn(column)) ((said[column] ??= []) as string[]).push(cell)
      else if (cell.trim() !== '') said[column] = cell
    }
    const given = Object.fromEntries(
      keys.flatMap(({ column }) => (said[column] === undefined ? [] : [[column, said[column]]])),
    )
    return { said, readContact: () => readContact(reading, { cells, columns: others, given, warnings }) }
  }
}

interface ContactCells {
  cells: readonly string[]
  columns: readonly { column: string; index: number }[]
  given: Values
  warnings: RowIssue[]
}

function readContact({ layout, fields, decimalMarks }: CellReading, row: ContactCells): ContactValues {
  const { cells, warnings } = row
  const count = layout.columns.length
  // Spreadsheets add or drop empty cells at the end of a row.
  if (cells.slice(count).some((cell) => cell.trim() !== ''))
    return { issue: { message: `Row has ${cells.length} cells, but the header has ${count}` } }
  const values: Values = { ...row.given }
  const custom: Values = {}
  const tags: string[] = []
  for (const { column, index } of row.columns) {
    const cell = cells[index] ?? ''
    if (isHidden(cell) && column !== '') warnings.push({ path: column, message: notShown })
    if (cell.trim() === '' || isBroken(cell)) continue
    if (column === '') return { issue: { message: `Column ${index + 1} has a value but no name in the header` } }
    if (column === 'tags') for (const tag of splitTags(cell)) tags.push(tag)
    else if (column === 'listmonk.attributes') {
      const { values, unknown, warning } = parseAttributes(cell, fields)
      if (unknown !== undefined && !layout.ignoresUnknown) return { issue: { path: column, message: unknown } }
      if (warning !== undefined) warnings.push({ path: column, message: warning })
      Object.assign(custom, values)
    } else if (column.startsWith(customPrefix)) {
      const key = column.slice(customPrefix.length)
      const type = fields.get(key)?.type
      const mark = decimalMarks.get(index)
      if (type === 'NUMBER' && mark) custom[key] = parseCustomValue(fields, key, normalizeNumber(cell, mark) ?? cell)
      else if (type === 'BOOLEAN') custom[key] = readYesNo(cell) ?? cell
      // A date of zeros is none.
      else if (type !== 'DATE') custom[key] = parseCustomValue(fields, key, type === 'TEXT' ? cell : cell.trim())
      else if (!isZeroDate(cell)) custom[key] = parseDate(cell) ?? cell
    } else values[column] = cell
  }
  return { values: { ...values, ...(tags.length > 0 && { tags }), customFieldValues: custom }, warnings }
}

/** Undefined for a key that is missing: as a text such as `NULL` it would be one of several people. */
export const readKey = (column: string, cell: string) =>
  isMissing(cell) ? undefined : column === 'email' ? unwrapAddress(cell) : cell.trim()

/** Splits tags at semicolons, commas or line breaks. A quoted tag may contain them, as in an export. */
function splitTags(cell: string): string[] {
  const listed = unwrapList(cell.slice(0, maxListLength))
  const tags = listed.includes('"') ? splitQuotedTags(listed) : listed.split(/[;,\r\n]/)
  return tags.map((tag) => tag.trim()).filter((tag) => tag !== '')
}

/** More is too many tags or a tag that is too long, and a cell may have a million: each tag is checked. */
const maxListLength = 50_000

/** Programs write an array as JSON, as Python or as PostgreSQL: `["a","b"]`, `['a', 'b']`, `{a,b}`. */
function unwrapList(cell: string): string {
  const list = /^\s*[[{](.*)[\]}]\s*$/s.exec(cell)?.[1]
  if (list === undefined) return cell.trim().toLowerCase() === 'null' ? '' : cell
  // A tag may have brackets.
  const isList = list.trim() === '' || /["']/.test(list) || (list.includes(',') && !list.includes(';'))
  if (!isList) return cell
  return list.replaceAll(/(?<=^|[,;]\s{0,9})'([^']*)'(?=\s{0,9}(?:[,;]|$))/g, '"$1"')
}

function splitQuotedTags(cell: string): string[] {
  try {
    return parse(cell, { delimiter: [';', ','], trim: true, relax_quotes: true, relax_column_count: true }).flat()
  } catch {
    return cell.split(/[;,\r\n]/)
  }
}

interface Attributes {
  /** By the keys of custom fields. Each value is read like a cell. */
  values: Values
  /** What to do about the first attribute without a custom field. */
  unknown?: string
  warning?: string
}

/** The JSON object of custom values in one cell, as listmonk exports it. */
function parseAttributes(cell: string, fields: CustomFields): Attributes {
  const attributes = parseObject(cell)
  if (!attributes) return { values: {}, warning: 'must be a JSON object; left out' }
  const values: Values = {}
  let unknown: string | undefined
  for (const [name, value] of Object.entries<unknown>(attributes)) {
    const key = findCustomField(name, fields)
    if (key === undefined)
      unknown ??= `no custom field for "${toPrintable(name)}": create it, or send unknownColumns=ignore`
    else if (value !== null && value !== '')
      values[key] = parseCustomValue(fields, key, typeof value === 'string' ? value : JSON.stringify(value))
  }
  return { values, ...(unknown !== undefined && { unknown }) }
}

/** Programs write no attributes as null, as an empty array or as their word for it, and some write JSON as a JSON string. */
function parseObject(cell: string): Values | undefined {
  if (isMissing(cell)) return {}
  const once = parseJson(cell)
  const parsed = typeof once === 'string' ? parseJson(once) : once
  if (parsed === null || (Array.isArray(parsed) && parsed.length === 0)) return {}
  return typeof parsed === 'object' && !Array.isArray(parsed) ? { ...parsed } : undefined
}

/** A number that becomes another one stays a text: a field of texts keeps its digits. */
const keepDigits = (_key: string, value: unknown, context?: { source?: string }) =>
  typeof value === 'number' && !isExactNumber(value) ? (context?.source ?? value) : value

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, keepDigits)
  } catch {
    return undefined
  }
}
