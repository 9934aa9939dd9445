/** What a file's first bytes say: where its rows begin and, of a CSV, what its columns are. */
import { textProperties, textPropertyNames } from '../contacts/contact-properties.ts'
import type { CustomFields } from '../contacts/custom-fields/custom-fields.ts'
import { AppError } from '../kernel/errors.ts'
import { openWindow, type FileLocation } from './byte-window.ts'
import { createCsvReader } from './csv-rows.ts'

/**
 * `columns` by what they are: a property of a contact, `customFieldValues.<key>`, null for one that is known and cannot
 * be written, '' for one without a name.
 */
export interface Layout {
  delimiter: string
  columns: (string | null)[]
}

const maxHeaderBytes = 65_536

/** Where the rows of an NDJSON file begin. Invalid when it is empty or in another encoding. */
export function findNdjsonStart(head: Buffer): FileLocation {
  const position = skipByteOrderMark(head)
  if (head.subarray(position).toString('latin1').trim() === '') throw new AppError('invalid', 'The file is empty')
  return { position, line: 1 }
}

/** Reads the header of a CSV from the first bytes of it. Invalid with what is wrong with it. */
export async function readHeader(head: Buffer, fields: CustomFields): Promise<{ layout: Layout; start: FileLocation }> {
  const position = skipByteOrderMark(head)
  const delimiter = findDelimiter(head.subarray(position, position + maxHeaderBytes).toString('latin1'))
  const window = openWindow(async (from) => (from < head.length ? head.subarray(from) : undefined), {
    position,
    line: 1,
  })
  const [header] = await createCsvReader(delimiter)(window, 1)
  if (!header) throw new AppError('invalid', 'The file is empty')
  if (window.location.position > maxHeaderBytes) throw new AppError('invalid', 'The header is larger than 64 KiB')
  if ('error' in header) throw new AppError('invalid', `The header cannot be read: ${header.error}`)
  return { layout: { delimiter, columns: matchColumns(header.content, fields) }, start: window.location }
}

function skipByteOrderMark(head: Buffer): number {
  if (head[0] === 0xff && head[1] === 0xfe) throw new AppError('invalid', 'The file is in UTF-16: save it in UTF-8')
  if (head[0] === 0xfe && head[1] === 0xff) throw new AppError('invalid', 'The file is in UTF-16: save it in UTF-8')
  return head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0
}

/** What separates the cells of the first line: whichever stands there most often outside quotation marks. */
function findDelimiter(text: string): string {
  const counts = { ',': 0, ';': 0, '\t': 0 }
  let isQuoted = false
  for (const character of text.trimStart()) {
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (character === '\n' || character === '\r') break
    else if (character in counts) counts[character as keyof typeof counts] += 1
  }
  return Object.entries(counts).reduce((best, other) => (other[1] > best[1] ? other : best))[0]
}

const properties = ['email', ...textPropertyNames, 'tags', 'source']
/** What an export shows and nobody can write. */
export const readOnlyProperties = ['id', 'createdAt', 'updatedAt', 'lastActivityAt', 'emailSubscribedStatus']

/** A property by the other names of its column. */
const propertiesByColumnName = new Map([
  ['emailaddress', 'email'],
  ['mail', 'email'],
  ['tag', 'tags'],
  ...textPropertyNames.flatMap((property) =>
    textProperties[property].columnNames.map((name) => [name, property] as const),
  ),
])

/**
 * What each column is, by its name in any usual spelling: a property of a contact first, then a custom field by key or
 * label. Invalid when one is none of these, when two are the same, or when none is the address.
 */
export function matchColumns(names: readonly string[], fields: CustomFields): (string | null)[] {
  const columns = names.map((name) => matchColumn(name.trim(), fields))
  const unknown = names.filter((_name, index) => columns[index] === undefined)
  if (unknown.length > 0) throw unknownColumns(unknown, fields)
  const known = columns.filter((column) => column)
  const duplicate = known.find((column, index) => known.indexOf(column) < index)
  if (duplicate) throw new AppError('invalid', `Two columns of the file are ${duplicate}`)
  if (!known.includes('email'))
    throw new AppError('invalid', `The file has no column email. ${listKnownColumns(fields)}`)
  return columns as (string | null)[]
}

function matchColumn(name: string, fields: CustomFields): string | null | undefined {
  if (name === '') return ''
  const normalized = normalizeName(name)
  const property = properties.find((property) => normalizeName(property) === normalized)
  if (property) return property
  if (readOnlyProperties.some((property) => normalizeName(property) === normalized)) return null
  const prefixed = /^custom[\s_-]*fields?(?:[\s_-]*values?)?\.(.+)$/i.exec(name)?.[1]
  const key = findCustomField(prefixed ?? name, fields)
  if (key !== undefined) return `customFieldValues.${key}`
  return prefixed === undefined ? propertiesByColumnName.get(normalized) : undefined
}

/** By its key to the letter; else by key, else by label, in any usual spelling, when that means one field only. */
function findCustomField(name: string, fields: CustomFields): string | undefined {
  if (fields.has(name)) return name
  const normalized = normalizeName(name)
  const byKey = [...fields.keys()].filter((key) => normalizeName(key) === normalized)
  const byLabel = [...fields].filter(([, field]) => normalizeName(field.label) === normalized).map(([key]) => key)
  const found = byKey.length > 0 ? byKey : byLabel
  return found.length === 1 ? found[0] : undefined
}

/** "First Name", "first_name" and "FIRSTNAME" are one name. */
const normalizeName = (name: string) =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s_.-]+/g, '')

function unknownColumns(names: readonly string[], fields: CustomFields): AppError {
  const shown = names.slice(0, 10).map(toPrintable)
  const rest = names.length > shown.length ? ` and ${names.length - shown.length} more` : ''
  const list = shown.map((name) => `"${name}"`).join(', ')
  return new AppError('invalid', `Unknown columns: ${list}${rest}. ${listKnownColumns(fields)}`, {
    issues: shown.map((path) => ({ path, message: 'is not known here' })),
  })
}

function listKnownColumns(fields: CustomFields): string {
  const custom = [...fields.keys()].slice(0, 100).map((key) => `customField.${key}`)
  return `Known are ${[...properties, ...custom].join(', ')}; ${readOnlyProperties.join(', ')} are ignored`
}

/** A name from a file, fit to be shown and stored. */
export const toPrintable = (name: string) =>
  name
    .slice(0, 60)
    .replaceAll(/[\u0000-\u001f\u007f]/g, ' ')
    .toWellFormed()
