import { expect, test } from 'vitest'
import type { CustomFields } from '../contacts/custom-fields/custom-fields.ts'
import type { Layout } from './import-header.ts'
import { parseCsvRow, parseJsonRow } from './import-rows.ts'

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
const bare = { email: 'ada@example.com', customFieldValues: {} }

test('cells become what their columns say, in the type of their field', () => {
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

test('an empty cell says nothing', () => {
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
])('the cell %s is the tags %j', (cell, tags) => {
  expect(read(['ada@example.com', '', '', cell])).toEqual({ line: 7, contact: { ...bare, tags } })
})

test.each([
  ["'=1+1", '=1+1'],
  ["'+49", '+49'],
  ["'-x", '-x'],
  ["'@x", '@x'],
  ["'tis", "'tis"],
  ["O'Brien", "O'Brien"],
])('the apostrophe by which an export guards a cell is taken off: %s is %s', (cell, firstName) => {
  expect(read(['ada@example.com', cell])).toEqual({ line: 7, contact: { ...bare, firstName } })
})

test.each([
  ['no address', ['', 'Ada'], 'email: must be an email address'],
  ['no mail address', ['ada at home'], 'email: must be an email address such as ada@example.com'],
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
  ['letters for a phone', ['ada@example.com', '', 'secret'], 'phone: must be a phone number'],
  ['too many tags', ['ada@example.com', '', '', [...Array(101).keys()].join()], 'tags: must have at most 100 tags'],
  ['a value without a column', ['ada@example.com', '', '', '', '', 'x'], 'Has a value in column 6, which has no name'],
  ['no number', cellsWith(7, 'seven'), 'customFieldValues.seats: must be a number'],
  ['too large a number', cellsWith(7, '1e400'), 'customFieldValues.seats: must be a number'],
  ['neither true nor false', cellsWith(8, 'perhaps'), 'customFieldValues.vip: must be true or false'],
  ['no date', cellsWith(9, '21.11.2026'), 'customFieldValues.since: must be a date such as 2026-11-21'],
  ['no option', cellsWith(10, 'gold'), 'customFieldValues.plan: must be one of free, pro'],
])('a row with %s says so, without the value', (_name, cells, error) => {
  expect(read(cells)).toEqual({ line: 7, error })
})

test('a row with more or fewer cells than the header says how many', () => {
  const cells = ['ada@example.com', 'Ada']
  expect(parseCsvRow({ line: 7, content: cells }, layout, fields)).toEqual({
    line: 7,
    error: 'Has 2 cells where the header has 11',
  })
})

test('an object is taken as POST /contacts would, and read-only properties are let pass', () => {
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
  expect(parseJsonRow({ line: 2, content: exported }, fields)).toEqual({
    line: 2,
    contact: {
      email: 'ada@example.com',
      firstName: 'Ada',
      lastName: '',
      phone: null,
      company: null,
      source: 'form',
      tags: ['a;b'],
      customFieldValues: { seats: 3 },
    },
  })
})

test.each([
  ['text', '"ada@example.com"', 'Is not a JSON object'],
  ['a list', '[]', 'Is not a JSON object'],
  ['null', 'null', 'Is not a JSON object'],
  ['an unknown field', '{"email":"ada@example.com","na\\u0000me":1}', 'na me: is not known here'],
  ['a number for a name', '{"email":"ada@example.com","firstName":1}', 'firstName: must be text'],
  [
    'custom values that are none',
    '{"email":"ada@example.com","customFieldValues":[]}',
    'customFieldValues: must be an object',
  ],
  ['an unknown custom field', customJson('{"\\u0000x":1}'), 'customFieldValues. x: is not known here'],
  ['an object for a value', customJson('{"note":{}}'), 'customFieldValues.note: must be text'],
  ['half a surrogate in a name', '{"email":"ada@example.com","firstName":"\\ud800"}', 'Is not sound JSON'],
  ['half a surrogate in a tag', '{"email":"ada@example.com","tags":["\\ud800"]}', 'Is not sound JSON'],
  ['half a surrogate in a value', customJson('{"note":"\\udfff"}'), 'Is not sound JSON'],
  ['NUL in a value', customJson('{"note":"a\\u0000"}'), 'customFieldValues.note: must not contain control characters'],
  ['a prototype', '{"email":"ada@example.com","__proto__":{"x":1}}', 'Is not sound JSON'],
  ['a prototype among the values', customJson('{"__proto__":1}'), 'Is not sound JSON'],
])('an object with %s says so', (_name, json, error) => {
  const row = parseJsonRow({ line: 3, content: JSON.parse(json) }, fields)
  expect(row).toEqual({ line: 3, error: expect.stringContaining(error) })
  expect(JSON.stringify(row)).not.toMatch(/\\u0000|\\ud800/)
})

test('a row that could not be read stays what it is', () => {
  const row = { line: 4, error: 'Is not valid UTF-8' }
  expect([parseCsvRow(row, layout, fields), parseJsonRow(row, fields)]).toEqual([row, row])
})

function read(cells: readonly string[]) {
  const content = layout.columns.map((_column, index) => cells[index] ?? '')
  return parseCsvRow({ line: 7, content }, layout, fields)
}

function cellsWith(index: number, cell: string): string[] {
  return ['ada@example.com', ...Array.from({ length: index - 1 }, () => ''), cell]
}

function customJson(values: string): string {
  return `{"email":"ada@example.com","customFieldValues":${values}}`
}
