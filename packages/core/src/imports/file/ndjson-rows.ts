/** Reads NDJSON: one JSON value per line. */
import { isUtf8 } from 'node:buffer'
import { findRepeatedKey } from '../../kernel/repeated-key.ts'
import { toPrintable } from '../words/names.ts'
import { type ByteWindow, skipLine } from './byte-window.ts'
import { type FileRow, maxRowBytes, type RowReader } from './csv-rows.ts'

type Matters = (line: Buffer) => boolean

/**
 * Invalid JSON or UTF-8 is returned as an error. Empty lines are skipped. A line that does not matter is returned as null,
 * because parsing it takes most of the time.
 */
export function createNdjsonReader(matters: Matters = () => true): RowReader<unknown> {
  return async (window, maxRows) => {
    for (;;) {
      const rows = readBuffered(window, { maxRows, matters })
      if (rows.length > 0) return rows
      if (window.bytes.length > maxRowBytes) {
        const { line } = window.location
        await skipLine(window)
        return [{ line, error: tooLarge }]
      }
      if (window.isAtEnd) return []
      await window.grow()
    }
  }
}

const tooLarge = 'Row is larger than 1 MiB'

function readBuffered(window: ByteWindow, { maxRows, matters }: { maxRows: number; matters: Matters }) {
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
  return rows
}

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
