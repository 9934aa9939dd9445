/** Reads the start of a file: where its rows begin and, for a CSV, what its columns are. */
import { textProperties, textPropertyNames } from '../../contacts/contact-properties.ts'
import type { CustomFields } from '../../custom-fields/custom-fields.ts'
import { AppError } from '../../kernel/errors.ts'
import { showInvisible, startOfText, trimInvisible } from '../../kernel/values/text.ts'
import { openWindow, type FileLocation } from './byte-window.ts'
import { createCsvReader } from './csv-rows.ts'
import { findTextStart } from './file-encoding.ts'

/**
 * Each column is a property of a contact, `customFieldValues.<key>`, null for a read-only property, or '' for a column
 * without a name.
 */
export interface Layout {
  delimiter: string
  columns: (string | null)[]
}

/** Begins the name of a column of custom field values. */
export const customPrefix = 'customFieldValues.'

const maxHeaderBytes = 65_536

/** Returns where the rows of an NDJSON file begin. Throws `validation_error` if the file is empty or no text. */
export function findNdjsonStart(head: Buffer): FileLocation {
  const position = findTextStart(head)
  if (head.subarray(position).toString('latin1').trim() === '')
    throw new AppError('validation_error', 'The file is empty')
  return { position, line: 1 }
}

/** Reads the header of a CSV from its first bytes. Throws `validation_error` with the reason if it is not valid. */
export async function readHeader(head: Buffer, fields: CustomFields): Promise<{ layout: Layout; start: FileLocation }> {
  const start = { position: findTextStart(head), line: 1 }
  const declared = readSeparator(head, start.position)
  if (declared) {
    const { delimiter, length } = declared
    const { names, end } = await readNames(head, { delimiter, start: { position: start.position + length, line: 2 } })
    return { layout: { delimiter, columns: matchColumns(names, fields) }, start: end }
  }
  const text = head.subarray(start.position, start.position + maxHeaderBytes).toString('latin1')
  let best: { delimiter: string; names: string[]; end: FileLocation; known: number } | undefined
  let error: unknown
  for (const delimiter of countDelimiters(text)) {
    try {
      const { names, end } = await readNames(head, { delimiter, start })
      const known = names.filter((name) => isKnown(matchColumn(name, fields))).length
      if (!best || known > best.known) best = { delimiter, names, end, known }
    } catch (failed) {
      error ??= failed
    }
  }
  if (!best || (best.known === 0 && error)) throw error
  const { delimiter, names, end } = best
  return { layout: { delimiter, columns: matchColumns(names, fields) }, start: end }
}

const isKnown = (column: string | null | undefined) => column !== undefined && column !== ''

async function readNames(
  head: Buffer,
  { delimiter, start }: { delimiter: string; start: FileLocation },
): Promise<{ names: string[]; end: FileLocation }> {
  const window = openWindow(async (from) => (from < head.length ? head.subarray(from) : undefined), start)
  const [header] = await createCsvReader(delimiter)(window, 1)
  if (!header) throw new AppError('validation_error', 'The file is empty')
  if (window.location.position > maxHeaderBytes)
    throw new AppError('validation_error', 'The header is larger than 64 KiB')
  if ('error' in header) throw new AppError('validation_error', `The header cannot be read: ${header.error}`)
  return { names: header.content, end: window.location }
}

/** Reads the line `sep=;`, which Excel writes and reads before the header. */
function readSeparator(head: Buffer, position: number): { delimiter: string; length: number } | undefined {
  const line = head.subarray(position, position + 100).toString('latin1')
  const [text, declared] = /^"?sep=(\\t|[^\r\n"])"?[;,\t ]*(?:\r\n|\r|\n|$)/i.exec(line) ?? []
  if (text === undefined || declared === undefined) return undefined
  return { delimiter: declared.toLowerCase() === '\\t' ? '\t' : declared, length: text.length }
}

/** The possible delimiters, those that occur most often in the first line outside quotation marks first. */
function countDelimiters(text: string): string[] {
  const counts = { ',': 0, ';': 0, '\t': 0 }
  let isQuoted = false
  for (const character of text.trimStart()) {
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (character === '\n' || character === '\r') break
    else if (character in counts) counts[character as keyof typeof counts] += 1
  }
  return Object.entries(counts)
    .toSorted(([, one], [, other]) => other - one)
    .map(([delimiter]) => delimiter)
}

const properties = ['email', 'externalId', ...textPropertyNames, 'tags', 'source']
/** Properties that an export contains and an import ignores. */
export const readOnlyProperties = ['id', 'createdAt', 'updatedAt', 'lastActivityAt', 'emailSubscribedStatus']

/** Properties by their other column names. */
const propertiesByColumnName = new Map([
  ['emailaddress', 'email'],
  ['mail', 'email'],
  ['tag', 'tags'],
  ...textPropertyNames.flatMap((property) =>
    textProperties[property].columnNames.map((name) => [name, property] as const),
  ),
])

/**
 * Matches column names, in any common spelling, first to properties of a contact, then to custom fields by key or
 * label. Throws `validation_error` for an unknown column, for two columns with the same target, and if no column is the
 * email or the external id.
 */
export function matchColumns(names: readonly string[], fields: CustomFields): (string | null)[] {
  const columns = names.map((name) => matchColumn(name, fields))
  const unknown = names.filter((_name, index) => columns[index] === undefined)
  if (unknown.length > 0) throw unknownColumns(unknown, fields)
  const known = columns.filter((column) => column)
  const duplicate = known.find((column, index) => known.indexOf(column) < index)
  if (duplicate) throw new AppError('validation_error', `Two columns of the file map to ${duplicate}`)
  if (!known.includes('email') && !known.includes('externalId'))
    throw new AppError('validation_error', `The file has no column email or externalId. ${listKnownColumns(fields)}`)
  return columns as (string | null)[]
}

function matchColumn(text: string, fields: CustomFields): string | null | undefined {
  const name = trimInvisible(text)
  if (name === '') return ''
  const normalized = normalizeName(name)
  const property = properties.find((property) => normalizeName(property) === normalized)
  if (property) return property
  if (readOnlyProperties.some((property) => normalizeName(property) === normalized)) return null
  const prefixed = /^custom[\s_-]*fields?(?:[\s_-]*values?)?\.(.+)$/i.exec(name)?.[1]
  const key = findCustomField(prefixed ?? name, fields)
  if (key !== undefined) return `${customPrefix}${key}`
  return prefixed === undefined ? propertiesByColumnName.get(normalized) : undefined
}

/** Finds a field by its exact key, else by a similar key, else by a similar label, if only one field matches. */
function findCustomField(name: string, fields: CustomFields): string | undefined {
  if (fields.has(name)) return name
  const normalized = normalizeName(name)
  const byKey = [...fields.keys()].filter((key) => normalizeName(key) === normalized)
  const byLabel = [...fields].filter(([, field]) => normalizeName(field.label) === normalized).map(([key]) => key)
  const found = byKey.length > 0 ? byKey : byLabel
  return found.length === 1 ? found[0] : undefined
}

/** "First Name", "first_name" and "FIRSTNAME" are the same name. */
const normalizeName = (name: string) =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s\p{Cf}_.-]+/gu, '')

function unknownColumns(names: readonly string[], fields: CustomFields): AppError {
  const shown = names.slice(0, 10).map(toPrintable)
  const rest = names.length > shown.length ? ` and ${names.length - shown.length} more` : ''
  const list = shown.map((name) => `"${name}"`).join(', ')
  return new AppError('validation_error', `Unknown columns: ${list}${rest}. ${listKnownColumns(fields)}`, {
    issues: shown.map((path) => ({ path, message: 'unknown column' })),
  })
}

function listKnownColumns(fields: CustomFields): string {
  const custom = [...fields.keys()].slice(0, 100).map((key) => `customField.${key}`)
  return `Known columns: ${[...properties, ...custom].join(', ')}. Ignored columns: ${readOnlyProperties.join(', ')}`
}

/** Makes a name from a file safe to show and to store. Shows invisible characters as `\u200b`. */
export const toPrintable = (name: string) => showInvisible(startOfText(name, 60))
