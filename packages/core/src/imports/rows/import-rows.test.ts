import { expect, test } from 'vitest'
import type { CustomFields } from '../../custom-fields/custom-fields.ts'
import type { Layout } from '../../db/schema/imports.ts'
import type { FileRow } from '../file/csv-rows.ts'
import { type ImportRow, readImportRow } from './import-rows.ts'
import { type CsvFormat, readCells, readObject } from './row-values.ts'

const fields: CustomFields = new Map([
  ['note', { label: 'Note', type: 'TEXT', options: [] }],
  ['seats', { label: 'Seats', type: 'NUMBER', options: [] }],
  ['vip', { label: 'VIP', type: 'BOOLEAN', options: [] }],
  ['since', { label: 'Since', type: 'DATE', options: [] }],
  ['plan', { label: 'Plan', type: 'SELECT', options: ['free', 'pro'] }],
])
const layout: Layout = {
  delimiter: ',',
  columns: [
    'email',
    'firstName',
    'phone',
    'tags',
    null,
    '',
    ...[...fields.keys()].map((key) => `customFieldValues.${key}`),
  ],
}
const format = { layout, fields, decimalMarks: new Map() }
const parseCsvRow = (row: FileRow<string[]>, format: CsvFormat) => readImportRow(readCells(row, format))
const parseJsonRow = (row: FileRow<unknown>) => readImportRow(readObject(row))
const bare = { email: 'ada@example.com', customFieldValues: {} }

test('converts cells to the types of their columns', () => {
  const cells = [
    'ada@example.com',
    ' Ada ',
    '+49 30 1',
    'a;b',
    'con_1',
    '',
    ' two\nlines ',
    '1e3',
    'Yes',
    ' 2026-11-21',
    'pro ',
  ]
  expect(read(cells)).toEqual({
    line: 7,
    contact: {
      email: 'ada@example.com',
      firstName: 'Ada',
      phone: '+49 30 1',
      tags: ['a', 'b'],
      customFieldValues: { note: ' two\nlines ', seats: 1_000, vip: true, since: '2026-11-21', plan: 'pro' },
    },
  })
})

test('ignores empty cells', () => {
  expect(read(['ada@example.com'])).toEqual({ line: 7, contact: bare })
})

test.each([
  ['a;b', ['a', 'b']],
  ['a, b ,c', ['a', 'b', 'c']],
  ['a;;b;', ['a', 'b']],
  ['a;a', ['a']],
  ['"a;b";c', ['a;b', 'c']],
  ['"a, b";"say ""so"""', ['a, b', 'say "so"']],
  ['"not closed;b', ['"not closed', 'b']],
  ['one', ['one']],
])('splits the cell %s into the tags %j', (cell, tags) => {
  expect(read(['ada@example.com', '', '', cell])).toEqual({ line: 7, contact: { ...bare, tags } })
})

test.each([
  ["'=1+1", '=1+1'],
  ["'+49", '+49'],
  ["'-x", '-x'],
  ["'@x", '@x'],
  ["'tis", "'tis"],
  ["O'Brien", "O'Brien"],
])('removes the apostrophe that an export adds: %s becomes %s', (cell, firstName) => {
  expect(read(['ada@example.com', cell])).toEqual({ line: 7, contact: { ...bare, firstName } })
})

test.each([
  ['text that is not an address', ['ada at home'], 'email: must be an email address such as ada@example.com'],
  ['two addresses', ['a@example.com, b@example.com'], 'email: must be an email address such as ada@example.com'],
  ['a long name', ['ada@example.com', 'x'.repeat(201)], 'firstName: must have at most 200 characters'],
  [
    'a control character',
    ['ada@example.com', 'A\u0000da'],
    'firstName: must not contain control characters or line breaks',
  ],
  [
    'a line break in a name',
    ['ada@example.com', 'A\nda'],
    'firstName: must not contain control characters or line breaks',
  ],
  ['letters in a phone number', ['ada@example.com', '', 'secret'], 'phone: must be a phone number'],
  ['too many tags', ['ada@example.com', '', '', [...Array(101).keys()].join()], 'tags: must have at most 100 tags'],
  [
    'a value in a column without a name',
    ['ada@example.com', '', '', '', '', 'x'],
    'Column 6 has a value but no name in the header',
  ],
])('rejects a row with %s without repeating the value', (_name, cells, error) => {
  expect(toText(read(cells))).toBe(error)
})

test.each([
  ['dropped', ['ada@example.com', 'Ada']],
  ['added', ['ada@example.com', 'Ada', ...Array.from({ length: 12 }, () => ' ')]],
])('empty cells at the end of a row may be %s', (_name, cells) => {
  expect(parseCsvRow({ line: 7, content: cells }, format)).toEqual({ line: 7, contact: { ...bare, firstName: 'Ada' } })
})

test('a cell beyond the header must be empty', () => {
  const cells = ['ada@example.com', ...Array.from({ length: 10 }, () => ''), 'x']
  expect(toText(parseCsvRow({ line: 7, content: cells }, format))).toBe('Row has 12 cells, but the header has 11')
})

test.each([
  ['="00491234567"', '00491234567'],
  [' ="0049" ', '0049'],
])('the cell %s is the text %s', (cell, phone) => {
  expect(read(['ada@example.com', '', cell])).toEqual({ line: 7, contact: { ...bare, phone } })
})

test('a text formula may contain quotation marks, and other formulas stay as they are', () => {
  const names = ['="say ""hi"""', '=1+1', '=""'].map((cell) => read(['ada@example.com', cell]))
  expect(names).toMatchObject([
    { contact: { firstName: 'say "hi"' } },
    { contact: { firstName: '=1+1' } },
    { contact: bare },
  ])
})

test('validates an object like POST /contacts and ignores read-only properties', () => {
  const exported = {
    id: 'con_1',
    email: 'ada@example.com',
    firstName: 'Ada',
    lastName: '',
    phone: null,
    company: null,
    customFieldValues: { seats: 3, plan: null },
    tags: ['a;b'],
    emailSubscribedStatus: 'SUBSCRIBED',
    lastActivityAt: null,
    source: 'form',
    createdAt: '2026-11-21T06:35:49.123Z',
    updatedAt: '2026-11-21T06:35:49.123Z',
  }
  expect(parseJsonRow({ line: 2, content: exported })).toEqual({
    line: 2,
    contact: {
      email: 'ada@example.com',
      firstName: 'Ada',
      lastName: '',
      phone: null,
      company: null,
      source: 'form',
      tags: ['a;b'],
      customFieldValues: { seats: 3, plan: null },
    },
  })
})

test.each([
  ['text', '"ada@example.com"', 'Row is not a JSON object'],
  ['an array', '[]', 'Row is not a JSON object'],
  ['null', 'null', 'Row is not a JSON object'],
  ['an unknown field', '{"email":"ada@example.com","na\\u0000me":1}', 'na\\u0000me: unknown field'],
  ['half of a character in a field', '{"email":"ada@example.com","\\ud800x":1}', '\\ud800x: unknown field'],
  ['a number as a name', '{"email":"ada@example.com","firstName":1}', 'firstName: must be a string'],
  [
    'an array as custom values',
    '{"email":"ada@example.com","customFieldValues":[]}',
    'customFieldValues: must be an object',
  ],
  ['an object as a value', customJson('{"no\\u0000te":{}}'), 'customFieldValues.no\\u0000te: must be a string'],
  [
    'an unpaired surrogate in a name',
    '{"email":"ada@example.com","firstName":"\\ud800"}',
    'Row contains an unpaired surrogate or the key "__proto__"',
  ],
  [
    'an unpaired surrogate in a tag',
    '{"email":"ada@example.com","tags":["\\ud800"]}',
    'Row contains an unpaired surrogate or the key "__proto__"',
  ],
  [
    'an unpaired surrogate in a value',
    customJson('{"note":"\\udfff"}'),
    'Row contains an unpaired surrogate or the key "__proto__"',
  ],
  [
    'a __proto__ key',
    '{"email":"ada@example.com","__proto__":{"x":1}}',
    'Row contains an unpaired surrogate or the key "__proto__"',
  ],
  [
    'a __proto__ key in the values',
    customJson('{"__proto__":1}'),
    'Row contains an unpaired surrogate or the key "__proto__"',
  ],
])('rejects an object with %s', (_name, json, error) => {
  const row = parseJsonRow({ line: 3, content: JSON.parse(json) })
  expect(toText(row)).toContain(error)
  expect(toText(row)).not.toMatch(/\u0000|\ud800/)
})

test('keeps the error of a row that could not be read', () => {
  const row = { line: 4, error: 'Row is not valid UTF-8' }
  const error = { line: 4, column: null, message: row.error }
  expect([parseCsvRow(row, format), parseJsonRow(row)]).toEqual([error, error])
})

function read(cells: readonly string[]) {
  const content = layout.columns.map((_column, index) => cells[index] ?? '')
  return parseCsvRow({ line: 7, content }, format)
}

function toText(row: ImportRow): string {
  if ('contact' in row) throw new Error('The row is valid')
  return row.column === null ? row.message : `${row.column}: ${row.message}`
}

function customJson(values: string): string {
  return `{"email":"ada@example.com","customFieldValues":${values}}`
}
