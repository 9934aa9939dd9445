import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { writeCsv, writeNdjson } from './export-lines.ts'

const columns = { name: 'text', note: 'text', values: 'json' } as const

/** As PostgreSQL documents the binary format of COPY. */
function binaryOf(rows: (string | null)[][]): Buffer {
  const number = (value: number, bytes: number) => {
    const buffer = Buffer.alloc(bytes)
    buffer.writeIntBE(value, 0, bytes)
    return buffer
  }
  const cell = (value: string | null) =>
    value === null ? number(-1, 4) : Buffer.concat([number(Buffer.byteLength(value), 4), Buffer.from(value)])
  const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), number(0, 4), number(0, 4)])
  return Buffer.concat([header, ...rows.flatMap((row) => [number(row.length, 2), ...row.map(cell)]), number(-1, 2)])
}

const inPieces = (bytes: Buffer, size: number) =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size)),
  )

const letters = Array.from({ length: 127 }, (_, code) => String.fromCharCode(code + 1)).join('')
const rows = [
  [letters, 'Łódź 👩‍💻 \u2028', '{"a": "\\n"}'],
  ['', null, '[]'],
  ['after', 'it', 'null'],
]
/** Longer than any piece, and each letter becomes six. */
const long = ['\u0001'.repeat(50_000), '"'.repeat(70_000), '{}']

test.each([
  [1, rows],
  [3, rows],
  [10_000, [...rows, long, ...rows, long]],
  [65_536, [...rows, long, ...rows, long]],
  [1_000_000, [...rows, long, ...rows, long]],
])('rows in pieces of %i bytes become the same lines', async (size, rows) => {
  const lines = (await text(inPieces(binaryOf(rows), size).pipe(writeNdjson(columns)))).split('\n')
  expect(lines.pop()).toBe('')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
    rows.map(([name, note, values]) => ({ name, note, values: JSON.parse(values ?? '') as unknown })),
  )
})

test('no rows are no lines, but a header in CSV', async () => {
  expect(await text(inPieces(binaryOf([]), 5).pipe(writeNdjson(columns)))).toBe('')
  expect(await text(inPieces(binaryOf([]), 5).pipe(writeCsv(columns)))).toBe('name,note,values\n')
})

test('a cell of CSV is quoted where it must be, and no formula', async () => {
  const cells = [
    '',
    'plain',
    'a,b',
    'a"b',
    'a\rb',
    'a\nb',
    '=1',
    '+1',
    '-1',
    '@a',
    '\t1',
    '\r1',
    '=a,b',
    "'",
    '1=1',
    'ü',
  ]
  const csv = await text(inPieces(binaryOf(cells.map((cell) => [cell])), 7).pipe(writeCsv({ cell: 'text' })))
  expect(csv).toBe(
    `cell\n${['""', 'plain', '"a,b"', '"a""b"', '"a\rb"', '"a\nb"', "'=1", "'+1", "'-1", "'@a", "'\t1", `"'\r1"`, `"'=a,b"`, "'", '1=1', 'ü'].join('\n')}\n`,
  )
})
