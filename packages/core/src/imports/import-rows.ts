/** Converts the rows of a file to contacts, by the validation rules of `POST /contacts`. */
import { parse } from 'csv-parse/sync'
import type { CheckedContact } from '../contacts/create-contact.ts'
import { ContactInput } from '../contacts/contacts.schema.ts'
import { unescapeFormulas } from '../contacts/export/escape-formulas.ts'
import {
  checkCustomValue,
  type CustomFields,
  type CustomValue,
  parseCustomValue,
} from '../custom-fields/custom-fields.ts'
import { toIssues } from '../kernel/zod-messages.ts'
import type { FileRow } from './csv-rows.ts'
import { type Layout, toPrintable, readOnlyProperties } from './import-header.ts'

/** The contact of a row, or its validation error. No message contains a value of the row. */
export type ImportRow = { line: number; contact: CheckedContact } | { line: number; error: string }

type Custom = Record<string, unknown>

/** Converts a CSV row. Empty cells are ignored. */
export function parseCsvRow(row: FileRow<string[]>, layout: Layout, fields: CustomFields): ImportRow {
  if ('error' in row) return row
  const { line, content: cells } = row
  const { columns } = layout
  if (cells.length !== columns.length) {
    return { line, error: `Row has ${cells.length} cells, but the header has ${columns.length}` }
  }
  const properties: Record<string, unknown> = {}
  const custom: Custom = {}
  for (const [index, column] of columns.entries()) {
    const cell = unescapeFormulas(cells[index] ?? '')
    if (column === null || cell.trim() === '') continue
    if (column === '') return { line, error: `Column ${index + 1} has a value but no name in the header` }
    if (column === 'tags') properties['tags'] = splitTags(cell)
    else if (!column.startsWith(customPrefix)) properties[column] = cell
    else {
      const key = column.slice(customPrefix.length)
      custom[key] = parseCustomValue(fields, key, fields.get(key)?.type === 'TEXT' ? cell : cell.trim())
    }
  }
  return toContact(line, { properties, custom, fields })
}

/** Converts a JSON value. The read-only properties of an export are ignored. */
export function parseJsonRow(row: FileRow<unknown>, fields: CustomFields): ImportRow {
  if ('error' in row) return row
  const { line, content } = row
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    return { line, error: 'Row is not a JSON object' }
  }
  const { customFieldValues: custom = {}, ...properties } = content as Record<string, unknown>
  for (const property of readOnlyProperties) delete properties[property]
  if (typeof custom !== 'object' || custom === null || Array.isArray(custom)) {
    return { line, error: 'customFieldValues: must be an object' }
  }
  if (!isStorable(properties) || !isStorable(custom))
    return { line, error: 'Row contains an unpaired surrogate or the key "__proto__"' }
  return toContact(line, { properties, custom: custom as Custom, fields })
}

const customPrefix = 'customFieldValues.'

function toContact(
  line: number,
  { properties, custom, fields }: { properties: Record<string, unknown>; custom: Custom; fields: CustomFields },
): ImportRow {
  const result = ContactInput.safeParse(properties)
  if (!result.success) {
    const [issue] = toIssues(result.error)
    return { line, error: `${toPrintable(issue?.path ?? '')}: ${issue?.message}` }
  }
  const values: Record<string, CustomValue> = {}
  for (const [key, value] of Object.entries(custom)) {
    if (value === null) continue
    // Without a suggestion, which would cost too much for each row of a file.
    if (!fields.has(key)) return { line, error: `${customPrefix}${toPrintable(key)}: unknown custom field` }
    const checked = checkCustomValue(fields, key, value)
    if ('message' in checked) return { line, error: `${customPrefix}${key}: ${checked.message}` }
    values[key] = checked.value
  }
  return { line, contact: { ...result.data, customFieldValues: values } }
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
