import { isUtf8 } from 'node:buffer'
import { type ByteWindow, skipLine } from './byte-window.ts'
import { toPrintable } from './column-names.ts'
import { type FileRow, maxRowBytes, type RowReader } from './csv-rows.ts'
import { findRepeatedKey } from './repeated-keys.ts'

/**
 * Reads NDJSON: one JSON value per line. Invalid JSON or UTF-8 is returned as an error. Empty lines are skipped. A line
 * that does not matter is returned as null, because parsing it takes most of the time.
 */
export function createNdjsonReader(matters: (line: Buffer) => boolean = () => true): RowReader<unknown> {
  return (window, maxRows) => readRows(window, { maxRows, matters })
}

async function readRows(
  window: ByteWindow,
  { maxRows, matters }: { maxRows: number; matters: (line: Buffer) => boolean },
): Promise<FileRow<unknown>[]> {
  for (;;) {
    const rows: FileRow<unknown>[] = []
    let [start, { line }] = [0, window.location]
    while (rows.length < maxRows && start < window.bytes.length) {
      const lineFeed = window.bytes.indexOf('\n', start)
      if (lineFeed < 0 && !window.isAtEnd) break
      const end = lineFeed < 0 ? window.bytes.length : lineFeed
      const bytes = window.bytes.subarray(start, end)
      const row = matters(bytes) ? parseLine(bytes, line) : { line, content: null }
      if (row) rows.push(row)
      start = Math.min(end + 1, window.bytes.length)
      line += 1
    }
    window.advance(start)
    if (rows.length > 0) return rows
    if (window.bytes.length > maxRowBytes) {
      const location = window.location
      await skipLine(window)
      return [{ line: location.line, error: tooLarge }]
    }
    if (window.isAtEnd) return []
    await window.grow()
  }
}

const tooLarge = 'Row is larger than 1 MiB'

function parseLine(bytes: Buffer, line: number): FileRow<unknown> | undefined {
  if (bytes.length > maxRowBytes) return { line, error: tooLarge }
  if (!isUtf8(bytes)) return { line, error: 'Row is not valid UTF-8' }
  const text = bytes.toString().trim()
  if (text === '') return undefined
  try {
    const content: unknown = JSON.parse(text)
    const key = findRepeatedKey(text, content)
    return key === undefined ? { line, content } : { line, error: `${keyTwice} "${toPrintable(key)}" twice` }
  } catch {
    return { line, error: 'Row is not valid JSON' }
  }
}

/** Begins the error of a row with two values for one property. */
export const keyTwice = 'Row has the key'
