import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { countRows, type RowCount } from './row-count.ts'

async function count(content: Buffer, options: { format?: 'csv' | 'ndjson'; isGzip?: boolean; piece?: number } = {}) {
  const { format = 'csv', isGzip = false, piece = 7 } = options
  const rows: RowCount = { count: undefined }
  async function* pieces() {
    for (let at = 0; at < content.length; at += piece) yield content.subarray(at, at + piece)
  }
  const passed: Buffer[] = []
  for await (const piece of countRows(pieces(), { format, isGzip, rows, onBytes: () => {} })) passed.push(piece)
  expect(Buffer.concat(passed).equals(content)).toBe(true)
  return rows.count
}

test('counts rows without the header and ignores line breaks within quotes', async () => {
  const rows = 'Email,Name\na@example.com,"A\nB"\nb@example.com,"""C"""\nc@example.com,D'
  expect(await count(Buffer.from(rows))).toBe(3)
  expect(await count(Buffer.from(`${rows}\n`))).toBe(3)
  expect(await count(Buffer.from('{"email":"a"}\n{"email":"\\""}\n'), { format: 'ndjson' })).toBe(2)
})

test('passes a gzip file through unchanged and counts the rows of its content', async () => {
  const content = gzipSync(Buffer.from(`Email\n${'a@example.com\n'.repeat(100_000)}`))
  expect(await count(content, { isGzip: true, piece: 512 })).toBe(100_000)
})

test('passes an invalid gzip file through, as the server rejects it', async () => {
  const noGzip = Buffer.from('Email\na@example.com\n'.repeat(50_000))
  for (const piece of [7, 65_536]) {
    expect(await count(noGzip, { isGzip: true, piece })).not.toBeGreaterThan(0)
  }
  const cutOff = gzipSync(Buffer.from('Email\n'.repeat(1_000))).subarray(0, 30)
  expect(await count(cutOff, { isGzip: true })).not.toBeGreaterThan(0)
})
