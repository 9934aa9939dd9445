/** Reads the start of a file: where its rows begin and, for a CSV, what its columns are. */
import type { Layout } from '../../db/schema/imports.ts'
import { AppError } from '../../kernel/errors.ts'
import { type FileLocation, openBuffer } from '../file/byte-window.ts'
import { createCsvReader } from '../file/csv-rows.ts'
import { findTextStart } from '../file/file-encoding.ts'

/** How the names of a header become the columns of a layout. */
export interface ColumnMatcher {
  isKnown: (name: string) => boolean
  /** Throws `validation_error` if the file cannot be imported with these columns. */
  match: (names: readonly string[]) => Omit<Layout, 'delimiter'>
  /** Whether the first row is the first row of data: then the file has no header. */
  isData?: (names: readonly string[]) => boolean
}

const maxHeaderBytes = 65_536
/** A column costs time in each row, also in one of two bytes. Systems with the most properties export about 1,000. */
const maxColumns = 2_000

/** Returns where the rows of an NDJSON file begin. Throws `validation_error` if the file is empty or no text. */
export function findNdjsonStart(head: Buffer): FileLocation {
  const position = findTextStart(head)
  if (head.subarray(position).toString('latin1').trim() === '')
    throw new AppError('validation_error', 'The file is empty')
  return { position, line: 1 }
}

/** Reads the header of a CSV from its first bytes. Throws `validation_error` with the reason if it is not valid. */
export async function readHeader(
  head: Buffer,
  matcher: ColumnMatcher,
): Promise<{ layout: Layout; start: FileLocation }> {
  const position = findTextStart(head)
  const declared = readSeparator(head, position)
  const start = declared ? { position: position + declared.length, line: 2 } : { position, line: 1 }
  const text = head.subarray(position, position + maxHeaderBytes).toString('latin1')
  let best: (FirstRow & { known: number }) | undefined
  let error: unknown
  for (const delimiter of declared ? [declared.delimiter] : countDelimiters(text)) {
    try {
      const row = await readFirstRow(head, { delimiter, start })
      const known = row.names.filter(matcher.isKnown).length
      if (!best || known > best.known) best = { ...row, known }
    } catch (failed) {
      error ??= failed
    }
  }
  if (!best || (best.known === 0 && error)) throw error
  const { delimiter, names, end } = best
  return { layout: { delimiter, ...matcher.match(names) }, start: matcher.isData?.(names) ? start : end }
}

interface FirstRow {
  delimiter: string
  names: string[]
  end: FileLocation
}

async function readFirstRow(
  head: Buffer,
  { delimiter, start }: { delimiter: string; start: FileLocation },
): Promise<FirstRow> {
  const window = openBuffer(head, start)
  const [header] = await createCsvReader(delimiter)(window, 1)
  if (!header) throw new AppError('validation_error', 'The file is empty')
  if (window.location.position > maxHeaderBytes)
    throw new AppError('validation_error', 'The header is larger than 64 KiB')
  if ('error' in header) throw new AppError('validation_error', `The header cannot be read: ${header.error}`)
  const names = header.content
  if (names.length > maxColumns)
    throw new AppError('validation_error', `The header has ${names.length} columns, but a file may have ${maxColumns}`)
  return { delimiter, names, end: window.location }
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
  const counts = { ',': 0, ';': 0, '\t': 0, '|': 0 }
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
