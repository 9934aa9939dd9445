import { describe, expect, test } from 'vitest'
import { AppError } from '../kernel/errors.ts'
import type { FormField } from '../db/schema/index.ts'
import { checkFormValues, parsePostedValues } from './form-values.ts'

type Type = FormField['type']
const field = (type: Type, more: Partial<FormField> = {}): FormField => ({
  id: 'it',
  label: 'It',
  type,
  required: false,
  ...(type === 'SELECT' && { options: ['Sales', 'two  spaces', 'constructor'] }),
  ...more,
})

/** Returns the stored value, or the issues. */
function check(of: FormField, input: unknown): unknown {
  try {
    return checkFormValues([of], { it: input })['it']
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'validation_error') throw error
    return error.issues
  }
}

const accepted: [Type, unknown, unknown][] = [
  ['TEXT', '  Ada ', 'Ada'],
  ['TEXT', 'e\u0301', 'é'],
  ['TEXT', '<script>alert(1)</script>', '<script>alert(1)</script>'],
  ['TEXT', '=HYPERLINK("x")', '=HYPERLINK("x")'],
  ['TEXT', '👩‍👩‍👧', '👩‍👩‍👧'],
  ['TEXT', 'x'.repeat(2_000), 'x'.repeat(2_000)],
  ['TEXTAREA', 'one\n\ttwo', 'one\n\ttwo'],
  ['TEXTAREA', 'x'.repeat(20_000), 'x'.repeat(20_000)],
  ['EMAIL', ' Ada@Example.com ', 'Ada@Example.com'],
  ['EMAIL', 'ada@münchen.example', 'ada@xn--mnchen-3ya.example'],
  ['PHONE', '+44 (0)20 7946-0958', '+44 (0)20 7946-0958'],
  ['NUMBER', 0, 0],
  ['NUMBER', -1.5, -1.5],
  ['NUMBER', 5e-324, 5e-324],
  ['DATE', '2024-02-29', '2024-02-29'],
  ['SELECT', 'two  spaces', 'two  spaces'],
  ['SELECT', 'constructor', 'constructor'],
  ['SELECT', ' Sales\u200b', 'Sales'],
  ['CHECKBOX', true, true],
  ['CHECKBOX', false, false],
  ['CONSENT', true, true],
]
test.each(accepted)('%s accepts %j', (type, input, stored) => {
  expect(check(field(type), input)).toEqual(stored)
  expect(check(field(type, { required: true }), input === false ? true : input)).toEqual(
    input === false ? true : stored,
  )
})

const rejected: [Type, unknown[]][] = [
  ['TEXT', ['a\nb', 'a\u0000', '\ud800', 'x'.repeat(2_001), 5, true, ['a'], { a: 1 }]],
  ['TEXTAREA', ['a\u0000b', '\u001b[31m', 'x'.repeat(20_001), 5, ['a']]],
  ['EMAIL', ['ada', 'a@b', 'a@example.com\r\nBcc: b@example.com', 'a@x.test, b@x.test', ['a@example.com'], { $ne: 1 }]],
  ['PHONE', ['none', '1'.repeat(41), 5]],
  ['NUMBER', ['5', Number.NaN, Number.POSITIVE_INFINITY, true, [5]]],
  ['DATE', ['2026-02-29', '2026-11-21T06:35:49Z', '21.11.2026', '275760-09-13', '+12026-01-01', 20261121]],
  ['SELECT', ['sales', 'Other', 'toString', '__proto__', 0, ['Sales']]],
  ['CHECKBOX', ['on', 1, 'true']],
  ['CONSENT', ['on', 1, 'yes', {}]],
]
test.each(rejected)('%s rejects invalid values with one issue for the field', (type, values) => {
  for (const input of values) {
    expect([input, check(field(type), input)]).toEqual([
      input,
      [{ path: 'it', message: expect.stringMatching(/^Please /) }],
    ])
  }
})

const empty = [undefined, null, '', '  ', '\u200b \u00ad']
test.each(empty)('%j is an empty value: omitted, or rejected if the field is required', (input) => {
  for (const type of [
    'TEXT',
    'TEXTAREA',
    'EMAIL',
    'PHONE',
    'NUMBER',
    'DATE',
    'SELECT',
    'CHECKBOX',
    'CONSENT',
  ] as const) {
    expect(checkFormValues([field(type)], { it: input })).toEqual({})
    expect(check(field(type, { required: true }), input)).toEqual([{ path: 'it', message: expect.any(String) }])
  }
})

test.each(['tel:', '\u200d'])('%j is an empty phone number: omitted, or rejected if it is required', (input) => {
  expect(checkFormValues([field('PHONE')], { it: input })).toEqual({})
  expect(check(field('PHONE', { required: true }), input)).toEqual([{ path: 'it', message: expect.any(String) }])
})

test('rejects an unchecked box that is required', () => {
  for (const type of ['CHECKBOX', 'CONSENT'] as const) {
    expect(check(field(type, { required: true }), false)).toEqual([{ path: 'it', message: 'Please check this box.' }])
  }
})

test('rejects unknown fields, including inherited names, and reports all issues', () => {
  const fields = [field('TEXT', { required: true }), field('NUMBER', { id: 'age' })]
  for (const id of ['other', 'constructor', 'toString', 'hasOwnProperty']) {
    const input = { it: 'Ada', [id]: 1 }
    expect(() => checkFormValues(fields, input)).toThrow(
      expect.objectContaining({ issues: [{ path: id, message: 'unknown field' }] }),
    )
  }
  expect(() => checkFormValues(fields, { other: 1, age: 'x' })).toThrow(
    expect.objectContaining({
      issues: [
        { path: 'other', message: 'unknown field' },
        { path: 'it', message: 'Please fill out this field.' },
        { path: 'age', message: 'Please enter a number of at most 15 digits.' },
      ],
    }),
  )
})

test('a field id can be an inherited name such as "constructor"', () => {
  const fields = ['constructor', 'toString', 'valueOf'].map((id) => field('TEXT', { id }))
  expect(checkFormValues(fields, {})).toEqual({})
  expect(checkFormValues(fields, { constructor: 'Ada' })).toEqual({ constructor: 'Ada' })
})

test('limits a text to the length that its target can store', () => {
  expect(check(field('TEXT', { mapsTo: 'firstName' }), 'x'.repeat(201))).toEqual([expect.any(Object)])
  expect(check(field('TEXT', { mapsTo: 'customFieldValues.note' }), 'x'.repeat(2_000))).toHaveLength(2_000)
  expect(check(field('TEXTAREA', { mapsTo: 'customFieldValues.note' }), 'x'.repeat(2_001))).toEqual([
    expect.any(Object),
  ])
})

describe('values of an HTML form post', () => {
  const fields = [
    field('NUMBER', { id: 'age' }),
    field('CHECKBOX', { id: 'box' }),
    field('CONSENT', { id: 'constructor' }),
    field('TEXT', { id: 'name' }),
  ]
  test('converts boxes and numbers; an empty number is not a number', () => {
    expect(parsePostedValues(fields, { age: '4.5', box: 'on', name: '4.5' })).toEqual({
      age: 4.5,
      box: true,
      constructor: false,
      name: '4.5',
    })
    expect(parsePostedValues(fields, { age: ' ', name: '' })).toMatchObject({ age: ' ', box: false })
  })

  test('rejects invalid and too large numbers', () => {
    for (const age of ['abc', '1e400', '-1e999', 'Infinity', '1,5', '١']) {
      expect(() => checkFormValues(fields, parsePostedValues(fields, { age }))).toThrow(
        'age: Please enter a number of at most 15 digits.',
      )
    }
  })
})
