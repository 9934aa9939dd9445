/** Reads CSV (RFC 4180) with any line endings. */
import { isUtf8 } from 'node:buffer'
import { CsvError, parse } from 'csv-parse/sync'
import { type ByteWindow, countLineBreaks, endOfLineBreaks, skipLine, skipLineBreaks } from './byte-window.ts'

/** A row and the line on which it begins: its content, or the reason why it cannot be read. */
export type FileRow<Content> = { line: number; content: Content } | { line: number; error: string }

/** Reads at most `maxRows` rows and moves the window past them. Returns none only at the end of the file. */
export type RowReader<Content> = (window: ByteWindow, maxRows: number) => Promise<FileRow<Content>[]>

/** No valid contact is larger. */
export const maxRowBytes = 1_048_576
/** Number of bytes to parse at a time; takes a few milliseconds. */
const parseBytes = 65_536

/**
 * A row that cannot be read is returned as an error, and reading continues on the next line, so that a stray quotation
 * mark costs one row and not the rest of the file.
 */
export function createCsvReader(delimiter: string): RowReader<string[]> {
  return async (window, maxRows) => {
    for (let parseLimit = parseBytes; ; parseLimit = Math.min(parseLimit * 4, maxRowBytes + 1)) {
      await skipLineBreaks(window)
      while (window.bytes.length < parseLimit && !window.isAtEnd) await window.grow()
      const bytes = window.bytes.subarray(0, parseLimit)
      if (bytes.length === 0) return []
      const isEnd = window.isAtEnd && bytes.length === window.bytes.length
      const { records, errorCode } = parseRecords(bytes, { delimiter, maxRows, isEnd })
      const rows = toRows(bytes, window.location.line, records)
      window.advance(records.at(-1)?.end ?? 0)
      const isTooLarge = records.length === 0 && (isEnd || bytes.length > maxRowBytes)
      if (errorCode !== undefined || isTooLarge) {
        await skipLineBreaks(window)
        const cells = errorCode === markInCell ? parseMarks(window, delimiter) : undefined
        const error = errorCode === undefined ? tooLarge : (errorMessages[errorCode] ?? errorCode)
        rows.push({ line: window.location.line, ...(cells ? { content: cells } : { error }) })
        await skipLine(window)
      }
      if (rows.length > 0) return rows
      // Only rows of empty cells were read: continue with the initial size.
      if (records.length > 0) parseLimit = parseBytes / 4
    }
  }
}

const tooLarge = 'Row is larger than 1 MiB or has an unclosed quotation mark'
const markInCell = 'INVALID_OPENING_QUOTE'
const misplacedQuote = 'Row has a quotation mark inside a cell: quote the cell and double the mark'
const errorMessages: Record<string, string> = {
  [markInCell]: misplacedQuote,
  CSV_INVALID_CLOSING_QUOTE: misplacedQuote,
  CSV_QUOTE_NOT_CLOSED: 'Row has an unclosed quotation mark',
}

interface ParsedRecord {
  cells: string[]
  /** The position after its line break, in bytes. */
  end: number
}

/**
 * Parses a line with quotation marks inside cells that are not quoted, such as `Nails 6" Ltd` or `="0049"`. Only this
 * line: with the option, a mark that is not closed could take in the following rows.
 */
function parseMarks(window: ByteWindow, delimiter: string): string[] | undefined {
  const lineBreak = window.bytes.findIndex((byte) => byte === 10 || byte === 13)
  if (lineBreak < 0 && !window.isAtEnd) return undefined
  const line = window.bytes.subarray(0, lineBreak < 0 ? window.bytes.length : lineBreak)
  try {
    return isUtf8(line) ? parse(line, { delimiter, relax_quotes: true, relax_column_count: true })[0] : undefined
  } catch {
    return undefined
  }
}

/** Parses the complete records at the start of `bytes`, and returns the error of the record after them, if any. */
function parseRecords(
  bytes: Buffer,
  { delimiter, maxRows, isEnd }: { delimiter: string; maxRows: number; isEnd: boolean },
): { records: ParsedRecord[]; errorCode?: string } {
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
    if (error.code !== 'CSV_QUOTE_NOT_CLOSED' || isEnd) return { records, errorCode: error.code }
  }
  // A record that ends where `bytes` ends may continue after it.
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
    if (!isAllUtf8 && !isUtf8(bytes.subarray(start, end))) rows.push({ line, error: 'Row is not valid UTF-8' })
    // Spreadsheets append rows of empty cells.
    else if (cells.some((cell) => cell.trim() !== '')) rows.push({ line, content: cells })
    line += countLineBreaks(bytes, start, end)
    position = end
  }
  return rows
}
