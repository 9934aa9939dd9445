import { expect, test } from 'vitest'
import { openWindow, type FileLocation } from './byte-window.ts'
import { createCsvReader, type RowReader } from './csv-rows.ts'
import { createNdjsonReader } from './ndjson-rows.ts'

const quote = 'Row has a quotation mark inside a cell: quote the cell and double the mark'
const neverClosed = 'Row has an unclosed quotation mark'
const tooLarge = 'Row is larger than 1 MiB or has an unclosed quotation mark'

test.each([
  [
    'LF',
    'a,b\nc,d\n',
    [
      [1, 'a', 'b'],
      [2, 'c', 'd'],
    ],
  ],
  [
    'CRLF',
    'a,b\r\nc,d\r\n',
    [
      [1, 'a', 'b'],
      [2, 'c', 'd'],
    ],
  ],
  [
    'CR',
    'a,b\rc,d\r',
    [
      [1, 'a', 'b'],
      [2, 'c', 'd'],
    ],
  ],
  [
    'mixed line breaks',
    'a,b\r\nc,d\ne,f\rg,h',
    [
      [1, 'a', 'b'],
      [2, 'c', 'd'],
      [3, 'e', 'f'],
      [4, 'g', 'h'],
    ],
  ],
  [
    'no line break at the end',
    'a,b\nc,d',
    [
      [1, 'a', 'b'],
      [2, 'c', 'd'],
    ],
  ],
  [
    'empty lines',
    '\n\na,b\n\n\r\nc,d\n\n',
    [
      [3, 'a', 'b'],
      [6, 'c', 'd'],
    ],
  ],
  ['leading CRLF lines', '\r\n\r\na,b\r\n', [[3, 'a', 'b']]],
  [
    'rows of empty cells',
    'a,b\n,\n , \n"",\nc,d\n,,,\n',
    [
      [1, 'a', 'b'],
      [5, 'c', 'd'],
    ],
  ],
  [
    'quoted cells',
    '"a,1","b ""2"""\nc,d',
    [
      [1, 'a,1', 'b "2"'],
      [2, 'c', 'd'],
    ],
  ],
  [
    'line breaks in cells',
    '"a\n1",b\n"c\r\n2\r\n\r\n3",d\ne,f',
    [
      [1, 'a\n1', 'b'],
      [3, 'c\r\n2\r\n\r\n3', 'd'],
      [7, 'e', 'f'],
    ],
  ],
  [
    'accents',
    'Zoë,Иван\n日本,🦄\n',
    [
      [1, 'Zoë', 'Иван'],
      [2, '日本', '🦄'],
    ],
  ],
  [
    'stray quotation marks',
    'a,b"b\nc,d\n"e"e,f\ng,h',
    [
      [1, 'a', 'b"b'],
      [2, 'c', 'd'],
      [3, quote],
      [4, 'g', 'h'],
    ],
  ],
  [
    'quotation marks inside cells',
    'Nails 6" Ltd,="0049"\r\n"a ""b""",5\'10"\r\nc,d',
    [
      [1, 'Nails 6" Ltd', '="0049"'],
      [2, 'a "b"', '5\'10"'],
      [3, 'c', 'd'],
    ],
  ],
  [
    'a mark inside a cell, and an open one after it',
    'a"a,"b\nc,d\n',
    [
      [1, quote],
      [2, 'c', 'd'],
    ],
  ],
  [
    'an unclosed quote at the end',
    'a,b\nc,"d\n',
    [
      [1, 'a', 'b'],
      [2, neverClosed],
    ],
  ],
  [
    'an unclosed quote costs its row only',
    'a,"b\nc,d\ne,f\n',
    [
      [1, neverClosed],
      [2, 'c', 'd'],
      [3, 'e', 'f'],
    ],
  ],
  [
    'an unclosed quote before quoted cells',
    'a,"b\nc,"d"\ne,f\n',
    [
      [1, quote],
      [2, 'c', 'd'],
      [3, 'e', 'f'],
    ],
  ],
  [
    'Latin-1',
    Buffer.from('a,b\nZoë,c\nd,e\n', 'latin1'),
    [
      [1, 'a', 'b'],
      [2, 'Row is not valid UTF-8'],
      [3, 'd', 'e'],
    ],
  ],
  ['no content', '', []],
  ['only line breaks', '\r\n\r\n\n', []],
])('reads CSV with %s, wherever the parts of the file end', async (_name, content, expected) => {
  await expectRows(() => createCsvReader(','), Buffer.from(content as string), expected)
})

test.each([
  [
    'LF',
    '{"a":1}\n{"a":2}\n',
    [
      [1, { a: 1 }],
      [2, { a: 2 }],
    ],
  ],
  [
    'CRLF and empty lines',
    '\r\n{"a":1}\r\n\r\n{"a":2}',
    [
      [2, { a: 1 }],
      [4, { a: 2 }],
    ],
  ],
  [
    'other values',
    '1\nnull\n"x"\n[]',
    [
      [1, 1],
      [2, null],
      [3, 'x'],
      [4, []],
    ],
  ],
  [
    'invalid JSON',
    '{"a":1\n{a:2}\n{"a":3}',
    [
      [1, 'Row is not valid JSON'],
      [2, 'Row is not valid JSON'],
      [3, { a: 3 }],
    ],
  ],
  [
    'Latin-1',
    Buffer.from('{"a":"ë"}\n{"a":1}', 'latin1'),
    [
      [1, 'Row is not valid UTF-8'],
      [2, { a: 1 }],
    ],
  ],
])('reads NDJSON with %s, wherever the parts of the file end', async (_name, content, expected) => {
  await expectRows(() => createNdjsonReader(), Buffer.from(content as string), expected)
})

test.each([
  ['CSV', createCsvReader(','), 'a,b\n', `"${'x'.repeat(5_000_000)}",d`, tooLarge],
  ['CSV', createCsvReader(','), 'a,b\n', `c,${'x'.repeat(5_000_000)}`, tooLarge],
  ['NDJSON', createNdjsonReader(), '{}\n', `{"a":"${'x'.repeat(5_000_000)}"}`, 'Row is larger than 1 MiB'],
])('rejects a %s row of 5 MB without buffering it and reads the other rows', async (...given) => {
  const [, reader, row, large, error] = given
  const content = Buffer.from(`${row}${large}\n${row}`)
  let largestWindow = 0
  const rows = await readAll(reader, content, {
    partBytes: 65_536,
    onGrow: (bytes) => (largestWindow = Math.max(largestWindow, bytes)),
  })
  expect(rows.map(({ line }) => line)).toEqual([1, 2, 3])
  expect(rows[1]).toEqual({ line: 2, error })
  expect(largestWindow).toBeLessThan(1.2 * 1_048_576)
})

test('reads a file of unclosed quotes and large cells in linear time', {
  // It would take minutes if every line were read again for every cell.
  timeout: 30_000,
}, async () => {
  const line = `"${'x'.repeat(200)}`
  const content = Buffer.from(Array.from({ length: 20_000 }, () => line).join('\n'))
  const rows = await readAll(createCsvReader(','), content, { partBytes: 1_048_576 })
  expect(rows).toHaveLength(20_000)
  expect(rows.every((row) => 'error' in row)).toBe(true)
})

test('reading can resume after any row', async () => {
  const content = Buffer.from('a,"1\r\n1"\r\n\r\nb"b,2\nc,3\r\n"d\n",4\r,,\re,"5')
  const reader = createCsvReader(',')
  const locations: FileLocation[] = []
  const rows = await readAll(reader, content, { partBytes: 4, locations })
  expect(rows.map(({ line }) => line)).toEqual([1, 4, 5, 6, 9])
  for (const [index, start] of locations.entries()) {
    expect(await readAll(reader, content, { partBytes: 5, start })).toEqual(rows.slice(index + 1))
  }
})

type Expected = readonly (readonly unknown[])[]

async function expectRows<Content>(createReader: () => RowReader<Content>, content: Buffer, expected: Expected) {
  for (const partBytes of [1, 2, 3, 5, 8, 1_000]) {
    const rows = await readAll(createReader(), content, { partBytes })
    const shown = rows.map((row) => [row.line, ...('error' in row ? [row.error] : [row.content].flat())])
    expect([partBytes, shown]).toEqual([partBytes, expected.map(([line, ...rest]) => [line, ...rest.flat()])])
  }
}

async function readAll(
  reader: RowReader<unknown>,
  content: Buffer,
  options: { partBytes: number; start?: FileLocation; locations?: FileLocation[]; onGrow?: (bytes: number) => void },
) {
  async function readPart(position: number) {
    options.onGrow?.(window.bytes.length)
    return position < content.length ? content.subarray(position, position + options.partBytes) : undefined
  }
  const window = openWindow(readPart, options.start ?? { position: 0, line: 1 })
  const rows = []
  for (;;) {
    const read = await reader(window, options.locations ? 1 : 100)
    if (read.length === 0) return rows
    rows.push(...read)
    options.locations?.push(window.location)
  }
}
