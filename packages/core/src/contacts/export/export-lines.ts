import { Transform } from 'node:stream'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import {
  type Bytes,
  type CellWriters,
  type ColumnKind,
  copyBytes,
  csvCells,
  jsonCells,
  mostGrowth,
} from './export-cells.ts'

/** How rows become lines. */
interface LineFormat {
  head: string
  /** What stands before each cell, and behind the last. */
  before: string[]
  after: string
  /** Instead of a cell that is null. No longer than four letters. */
  missing: string
  cells: CellWriters
}

type Columns = Record<string, ColumnKind>

/** Reads what `COPY … TO STDOUT (format binary)` sends of these columns. By RFC 4180, with a header. */
export function writeCsv(columns: Columns): Transform {
  const names = Object.keys(columns)
  const before = names.map((_, place) => (place > 0 ? ',' : ''))
  return writeLines(columns, { head: `${names.join(',')}\n`, before, after: '\n', missing: '', cells: csvCells })
}

/** The same as an object a line. */
export function writeNdjson(columns: Columns): Transform {
  const before = Object.keys(columns).map((name, place) => `${place > 0 ? ',' : '{'}"${name}":`)
  return writeLines(columns, { head: '', before, after: '}\n', missing: 'null', cells: jsonCells })
}

/** Of rows: a fifth of a millisecond's work. */
const sliceBytes = 16_384
/** Then it stands still for a moment. */
const slicesInARow = 3
/** Room for what most slices become. */
const pieceBytes = 40_960
/** What stands before all rows says nothing that is not known. */
const headerBytes = 19
/** How many cells a row has, and how long each is, -1 where it is null. */
const countBytes = 2
const lengthBytes = 4

function writeLines(columns: Columns, format: LineFormat): Transform {
  const { writeLine, mostOf } = lineWriter(columns, format)
  // One buffer for all slices, as they would be garbage that is collected late, being large.
  let source = Buffer.alloc(0)
  let kept = 0
  let slices = 0
  let leftOfHeader = headerBytes
  let leftOfSlice = sliceBytes
  const lines = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      writeSlices(chunk).then(() => done(), done)
    },
  })

  /** After each slice others have their turn; and while it stands still, PostgreSQL soon has to as well. */
  async function writeSlices(chunk: Buffer): Promise<void> {
    let at = Math.min(leftOfHeader, chunk.length)
    leftOfHeader -= at
    while (at < chunk.length) {
      const slice = chunk.subarray(at, at + leftOfSlice)
      writeRows(slice)
      at += slice.length
      leftOfSlice -= slice.length
      if (leftOfSlice > 0) continue
      leftOfSlice = sliceBytes
      slices += 1
      await (slices % slicesInARow > 0 ? setImmediate() : standStill())
    }
  }

  /** Of a row that is not there as a whole it keeps the beginning. */
  function writeRows(slice: Buffer): void {
    const length = kept + slice.length
    if (length > source.length) source = Buffer.concat([source.subarray(0, kept)], 2 * length)
    slice.copy(source, kept)
    const row: Bytes = { of: source.subarray(0, length), start: 0, end: 0 }
    let piece = newPiece(0)
    while (findEnd(row)) {
      const most = mostOf(row)
      if (piece.end + most > piece.of.length) {
        push(piece)
        piece = newPiece(Math.max(pieceBytes, most))
      }
      writeLine(row, piece)
      row.start = row.end
    }
    push(piece)
    source.copyWithin(0, row.start, length)
    kept = length - row.start
  }

  const push = ({ of, end }: Bytes) => end > 0 && lines.push(of.subarray(0, end))
  if (format.head) lines.push(format.head)
  return lines
}

const newPiece = (size: number): Bytes => ({ of: Buffer.allocUnsafe(size), start: 0, end: 0 })

/** Whether all of the row that starts at `start` is there: then `end` is where it ends. Behind the last row stands -1. */
function findEnd(row: Bytes): boolean {
  const { of, start } = row
  if (start + countBytes > of.length) return false
  const cells = of.readInt16BE(start)
  let end = start + countBytes
  for (let cell = 0; cell < cells; cell += 1) {
    if (end + lengthBytes > of.length) return false
    end += lengthBytes + Math.max(of.readInt32BE(end), 0)
  }
  row.end = end
  return cells > 0 && end <= of.length
}

function lineWriter(columns: Columns, format: LineFormat) {
  const writers = Object.values(columns).map((kind) => format.cells[kind]())
  const before = format.before.map(constant)
  const [after, missing] = [constant(format.after), constant(format.missing)]
  const mostAround = [...format.before, format.after].join('').length
  const cell: Bytes = { of: Buffer.alloc(0), start: 0, end: 0 }

  // Counted, as iterators would be most of the garbage of an export.
  function writeLine(row: Bytes, piece: Bytes): void {
    cell.of = row.of
    cell.end = row.start + countBytes
    for (let place = 0; place < writers.length; place += 1) {
      const length = row.of.readInt32BE(cell.end)
      cell.start = cell.end + lengthBytes
      cell.end = cell.start + Math.max(length, 0)
      copyBytes(before[place] ?? missing, piece)
      if (length < 0) copyBytes(missing, piece)
      else writers[place]?.(cell, piece)
    }
    copyBytes(after, piece)
  }

  return { writeLine, mostOf: ({ start, end }: Bytes) => (end - start) * mostGrowth + mostAround }
}

const constant = (text: string): Bytes => ({ of: Buffer.from(text), start: 0, end: Buffer.byteLength(text) })

/** A millisecond; and when that took longer, since the processors have more to do than they can, twice the delay. */
async function standStill(): Promise<void> {
  const startedAt = performance.now()
  await sleep(1)
  const lateMs = performance.now() - startedAt - 1
  if (lateMs > 0.5) await sleep(Math.min(Math.ceil(2 * lateMs), longestPauseMs))
}

const longestPauseMs = 2
