import { isUtf8 } from 'node:buffer'
import { CsvError, parse } from 'csv-parse/sync'
import { type ByteWindow, countLineBreaks, endOfLineBreaks, skipLine, skipLineBreaks } from './byte-window.ts'

/** A row of a file by the line it begins on: what it holds, or why it cannot be read. */
export type FileRow<Content> = { line: number; content: Content } | { line: number; error: string }

/** Reads at most `most` rows and slides the window behind them; none only at the end of the file. */
export type RowReader<Content> = (window: ByteWindow, maxRows: number) => Promise<FileRow<Content>[]>

/** No row that the API would take is larger. */
export const maxRowBytes = 1_048_576
/** So much is parsed at a time, in a few milliseconds. */
const parseBytes = 65_536

/**
 * Reads CSV (RFC 4180), its cells by `delimiter`, its lines ended in any way. A row that cannot be read is told as
 * such, and reading goes on with the very next line: a quotation mark too many costs one row and not the rest.
 */
export function createCsvReader(delimiter: string): RowReader<string[]> {
  return async (window, maxRows) => {
    for (let reach = parseBytes; ; reach = Math.min(reach * 4, maxRowBytes + 1)) {
      await skipLineBreaks(window)
      while (window.bytes.length < reach && !window.isAtEnd) await window.grow()
      const bytes = window.bytes.subarray(0, reach)
      if (bytes.length === 0) return []
      const isEnd = window.isAtEnd && bytes.length === window.bytes.length
      const { records, parseError } = parseRecords(bytes, { delimiter, maxRows, isEnd })
      const rows = toRows(bytes, window.location.line, records)
      window.advance(records.at(-1)?.end ?? 0)
      const isTooLarge = records.length === 0 && (isEnd || bytes.length > maxRowBytes)
      const error = parseError ?? (isTooLarge ? tooLarge : undefined)
      if (error !== undefined) {
        await skipLineBreaks(window)
        rows.push({ line: window.location.line, error })
        await skipLine(window)
      }
      if (rows.length > 0) return rows
      // Nothing but rows of empty cells was read, and now it goes on as from the start.
      if (records.length > 0) reach = parseBytes / 4
    }
  }
}

const tooLarge = 'Is larger than 1 MiB, or has a quotation mark that is never closed'
const misplacedQuote = 'Has a quotation mark within a cell: such a cell must be quoted, and the mark doubled'
const errorMessages: Record<string, string> = {
  INVALID_OPENING_QUOTE: misplacedQuote,
  CSV_INVALID_CLOSING_QUOTE: misplacedQuote,
  CSV_QUOTE_NOT_CLOSED: 'Has a quotation mark that is never closed',
}

interface ParsedRecord {
  cells: string[]
  /** In bytes, its line break included. */
  end: number
}

/** The complete records at the beginning of `bytes`, and what is wrong with the one after them. */
export function parseRecords(
  bytes: Buffer,
  { delimiter, maxRows, isEnd }: { delimiter: string; maxRows: number; isEnd: boolean },
): { records: ParsedRecord[]; parseError?: string } {
  const records: ParsedRecord[] = []
  try {
    parse(bytes, {
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      skip_empty_lines: true,
      to: maxRows,
      on_record(cells: string[], { bytes: end }) {
        records.push({ cells, end })
        return null
      },
    })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    if (error.code !== 'CSV_QUOTE_NOT_CLOSED' || isEnd)
      return { records, parseError: errorMessages[error.code] ?? error.code }
  }
  // What ends where the bytes end may go on after them.
  if (!isEnd && records.at(-1)?.end === bytes.length) records.pop()
  return { records }
}

function toRows(bytes: Buffer, firstLine: number, records: ParsedRecord[]): FileRow<string[]>[] {
  const isAllUtf8 = isUtf8(bytes.subarray(0, records.at(-1)?.end ?? 0))
  const rows: FileRow<string[]>[] = []
  let [position, line] = [0, firstLine]
  for (const { cells, end } of records) {
    const start = endOfLineBreaks(bytes, position)
    line += countLineBreaks(bytes, position, start)
    if (!isAllUtf8 && !isUtf8(bytes.subarray(start, end))) rows.push({ line, error: 'Is not valid UTF-8' })
    // Spreadsheets leave such rows at the end.
    else if (cells.some((cell) => cell.trim() !== '')) rows.push({ line, content: cells })
    line += countLineBreaks(bytes, start, end)
    position = end
  }
  return rows
}
