/** The cells of an export, written from bytes to bytes: as strings they would cost several times as much. */
import { idDigits } from '../../kernel/ids.ts'

/** A stretch of bytes: a cell as it was read, or a piece of the export as far as it has been written. */
export interface Bytes {
  of: Buffer
  start: number
  end: number
}

/** What a column holds, as `COPY … (format binary)` sends it: a contact's UUID, letters, a timestamptz, finished JSON. */
export type ColumnKind = 'id' | 'text' | 'moment' | 'json'

export type WriteCell = (cell: Bytes, piece: Bytes) => void

/** No cell is written in more bytes than so many times those it was sent in, its length's four included. */
export const mostGrowth = 6

/** For each kind, a writer of its own for each column. */
export type CellWriters = Record<ColumnKind, () => WriteCell>

export const csvCells: CellWriters = {
  id: () => writeId,
  text: () => writeCsvText,
  moment: momentWriter,
  json: () => writeCsvText,
}

export const jsonCells: CellWriters = {
  id: () => quoted(writeId),
  text: () => quoted(writeJsonText),
  moment: () => quoted(momentWriter()),
  json: () => copyBytes,
}

const codeOf = (letter: string) => letter.charCodeAt(0)
const [apostrophe, quote, backslash, zero] = [codeOf("'"), codeOf('"'), codeOf('\\'), codeOf('0')]

export function copyBytes({ of, start, end }: Bytes, piece: Bytes): void {
  for (let at = start; at < end; at += 1) piece.of[piece.end++] = of[at] ?? 0
}

function quoted(write: WriteCell): WriteCell {
  return (cell, piece) => {
    piece.of[piece.end++] = quote
    write(cell, piece)
    piece.of[piece.end++] = quote
  }
}

const prefix = Buffer.from('con_')

/** As `idOf` does. 128 bits, led by two zeros, five in a letter. */
function writeId({ of, start, end }: Bytes, piece: Bytes): void {
  piece.end += prefix.copy(piece.of, piece.end)
  let bits = 0
  let pending = 2
  for (let at = start; at < end; at += 1) {
    bits = ((bits << 8) | (of[at] ?? 0)) & 0xfff
    for (pending += 8; pending >= 5; ) {
      pending -= 5
      piece.of[piece.end++] = idDigits[(bits >> pending) & 31] ?? 0
    }
  }
}

const epochMs = Date.UTC(2000, 0)

/** As `toTimestamp` does. Who is next in an export often is of the same minute, which is written out once. */
function momentWriter(): WriteCell {
  let minute: number | undefined
  let text = Buffer.alloc(0)
  return ({ of, start }, piece) => {
    // Microseconds, of which the columns keep the thousands: a number that is too large for all its digits rounds to them.
    const ms = Math.round((of.readInt32BE(start) * 2 ** 32 + of.readUInt32BE(start + 4)) / 1000) + epochMs
    const itsMinute = Math.floor(ms / 60_000)
    if (itsMinute !== minute) {
      minute = itsMinute
      text = Buffer.from(new Date(itsMinute * 60_000).toISOString())
    }
    const digits = ms - itsMinute * 60_000
    // The last seven of YYYY-MM-DDTHH:MM:SS.mmmZ.
    text[17] = zero + Math.floor(digits / 10_000)
    text[18] = zero + (Math.floor(digits / 1000) % 10)
    text[20] = zero + (Math.floor(digits / 100) % 10)
    text[21] = zero + (Math.floor(digits / 10) % 10)
    text[22] = zero + (digits % 10)
    piece.end += text.copy(piece.of, piece.end)
  }
}

const formulaStarts = new Set(Array.from('=+-@\t\r', codeOf))
const quotedInCsv = new Set(Array.from('",\r\n', codeOf))

/** By RFC 4180, and by OWASP's rule against formula injection. What is empty is quoted, unlike what is missing. */
function writeCsvText({ of, start, end }: Bytes, piece: Bytes): void {
  let needsQuotes = start === end
  for (let at = start; at < end && !needsQuotes; at += 1) needsQuotes = quotedInCsv.has(of[at] ?? 0)
  if (needsQuotes) piece.of[piece.end++] = quote
  if (formulaStarts.has(of[start] ?? 0) && start < end) piece.of[piece.end++] = apostrophe
  for (let at = start; at < end; at += 1) {
    const letter = of[at] ?? 0
    if (letter === quote) piece.of[piece.end++] = quote
    piece.of[piece.end++] = letter
  }
  if (needsQuotes) piece.of[piece.end++] = quote
}

function writeJsonText({ of, start, end }: Bytes, piece: Bytes): void {
  for (let at = start; at < end; at += 1) {
    const letter = of[at] ?? 0
    if (letter < 0x20) {
      piece.end += piece.of.write(JSON.stringify(String.fromCharCode(letter)).slice(1, -1), piece.end)
      continue
    }
    if (letter === quote || letter === backslash) piece.of[piece.end++] = backslash
    piece.of[piece.end++] = letter
  }
}
