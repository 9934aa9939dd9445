import { expect, test } from 'vitest'
import type { CustomFields } from '../../custom-fields/custom-fields.ts'
import type { Layout } from '../../db/schema/imports.ts'
import { contactReader, type ImportRow } from './person-rows.ts'

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
const mail = 'ada@example.com'
const parseCsvRow = contactReader({ layout, fields })
const parseJsonRow = contactReader({ layout: null, fields })
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
  ['an address of a megabyte', [`a${'\u200c'.repeat(349_000)}a`], 'email: must have at most 254 characters'],
  ['two addresses', ['a@example.com, b@example.com'], 'email: must be an email address such as ada@example.com'],
  [
    'a value in a column without a name',
    ['ada@example.com', '', '', '', '', 'x'],
    'Column 6 has a value but no name in the header',
  ],
])('rejects a row with %s without repeating the value', (_name, cells, error) => {
  expect(toText(read(cells))).toBe(error)
})

test.each([
  ['a long name', [mail, 'x'.repeat(201)], 'firstName: must have at most 200 characters'],
  ['a control character', [mail, 'A\u0000da'], 'firstName: must not contain control characters or line breaks'],
  ['a line break in a name', [mail, 'A\nda'], 'firstName: must not contain control characters or line breaks'],
  ['letters in a phone number', [mail, '', 'secret'], 'phone: must be a phone number'],
  ['too many tags', [mail, '', '', [...Array(101).keys()].join()], 'tags: must have at most 100 tags'],
  ['a million tags', [mail, '', '', 'a;'.repeat(500_000)], 'tags: must have at most 100 tags'],
  ['a megabyte of combining marks', [mail, `a${'\u0345\u0316'.repeat(130_000)}`], 'firstName: must have at most 200'],
  ['a megabyte of line breaks', [mail, '', `1${'\n'.repeat(500_000)}2`], 'phone: must have at most 40 characters'],
  ['a word as a number', [mail, '', '', '', '', '', '', 'many'], 'customFieldValues.seats: must be a number'],
  [
    'an option that is none',
    [mail, '', '', '', '', '', '', '', '', '', 'gold'],
    'customFieldValues.plan: must be one of',
  ],
])('a row with %s costs the value, not the person', (_name, cells, warning) => {
  const row = read(cells)
  expect(row).toMatchObject({ contact: { email: mail } })
  const told = 'contact' in row ? row.warnings?.map(({ column, message }) => `${column}: ${message}`) : []
  expect(told).toEqual([expect.stringContaining(warning)])
  expect(told?.join()).toMatch(/; left out$/)
  expect(JSON.stringify(row)).not.toMatch(/secret|gold|many/)
})

test('one wrong tag or custom value costs only itself', () => {
  const content = {
    email: mail,
    tags: ['a', 'x'.repeat(101), 'b'],
    firstName: 1,
    customFieldValues: { note: {}, seats: 2 },
  }
  expect(parseJsonRow({ line: 2, content })).toMatchObject({
    contact: { email: mail, tags: ['a', 'b'], customFieldValues: { seats: 2 } },
  })
  const row = parseJsonRow({ line: 2, content })
  const columns = 'contact' in row ? row.warnings?.map(({ column }) => column) : []
  expect(columns?.toSorted()).toEqual(['customFieldValues.note', 'firstName', 'tags.1'])
})

test.each(['1.23457E+14', '1,23457e+14', '2E+15', '1.5E-07'])(
  'the shortened external id %s is an error',
  (externalId) => {
    expect(toText(parseJsonRow({ line: 2, content: { externalId, email: mail } }))).toMatch(
      /^externalId: was shortened by a spreadsheet/,
    )
  },
)

test.each(['12E4', '1e5', 'E+14', '1.2.3E+14'])('the external id %s is one', (externalId) => {
  expect(parseJsonRow({ line: 2, content: { externalId, email: mail } })).toMatchObject({ contact: { externalId } })
})

test.each([
  ['ja', true],
  ['FAUX', false],
  ['Sì', true],
  ['nao', false],
  ['verdadero', true],
])('%s is %s for a custom field, and dates are read in any form', (word, vip) => {
  expect(read([mail, '', '', '', '', '', '', '', word, '18 Apr 2016'])).toMatchObject({
    contact: { customFieldValues: { vip, since: '2016-04-18' } },
  })
  expect(read([mail, '', '', '', '', '', '', '', word, '0000-00-00'])).toMatchObject({ contact: { email: mail } })
})

test.each([
  ['dropped', ['ada@example.com', 'Ada']],
  ['added', ['ada@example.com', 'Ada', ...Array.from({ length: 12 }, () => ' ')]],
])('empty cells at the end of a row may be %s', (_name, cells) => {
  expect(parseCsvRow({ line: 7, content: cells })).toEqual({ line: 7, contact: { ...bare, firstName: 'Ada' } })
})

test('a cell beyond the header must be empty', () => {
  const cells = ['ada@example.com', ...Array.from({ length: 10 }, () => ''), 'x']
  expect(toText(parseCsvRow({ line: 7, content: cells }))).toBe('Row has 12 cells, but the header has 11')
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
    status: { statuses: ['CONFIRMED'] },
  })
})

test.each([
  ['text', '"ada@example.com"', 'Row is not a JSON object'],
  ['an array', '[]', 'Row is not a JSON object'],
  ['null', 'null', 'Row is not a JSON object'],
  ['an unknown field', '{"email":"ada@example.com","na\\u0000me":1}', 'na\\u0000me: unknown field'],
  ['half of a character in a field', '{"email":"ada@example.com","\\ud800x":1}', '\\ud800x: unknown field'],
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
  expect([parseCsvRow(row), parseJsonRow(row)]).toEqual([error, error])
})

function read(cells: readonly string[]) {
  const content = layout.columns.map((_column, index) => cells[index] ?? '')
  return parseCsvRow({ line: 7, content })
}

function toText(row: ImportRow): string {
  if ('contact' in row) throw new Error('The row is valid')
  return row.column === null ? row.message : `${row.column}: ${row.message}`
}

function customJson(values: string): string {
  return `{"email":"ada@example.com","customFieldValues":${values}}`
}

test('equal answers of many columns are read once', () => {
  const columns = ['email', ...Array.from({ length: 1_000 }, () => 'status')]
  const row = contactReader({ layout: { delimiter: ',', columns }, fields })
  const cells = [mail, ...columns.slice(2).map(() => 'subscribed'), 'unsubscribed']
  expect(row({ line: 2, content: cells })).toMatchObject({ status: { statuses: ['CONFIRMED', 'UNSUBSCRIBED'] } })
})

test('a cell of very many tags costs only the tags of its row', () => {
  const row = contactReader({ layout: { delimiter: ',', columns: ['email', 'tags'] }, fields })
  const tags = Array.from({ length: 200_000 }, (_, index) => index.toString(36)).join(';')
  expect(row({ line: 2, content: [mail, tags] })).toEqual({
    line: 2,
    contact: bare,
    warnings: [{ line: 2, column: 'tags', message: 'must have at most 100 tags; left out' }],
  })
})
