import { expect, test } from 'vitest'
import type { Findings } from '../../db/schema/imports.ts'
import { decideDecimalMark, findDecimalMarks, normalizeNumber } from './number-format.ts'

test.each([
  ['1234.5', '1234.5', undefined],
  ['1,234.56', '1234.56', undefined],
  ['1.234,56', undefined, '1234.56'],
  ['1.234', '1.234', '1234'],
  ['1,234', '1234', '1.234'],
  ['0.500', '0.500', undefined],
  ['0,500', undefined, '0.500'],
  ['1234.567', '1234.567', undefined],
  ['1.234.567', undefined, '1234567'],
  ['-1 234,5', undefined, '-1234.5'],
  ['1\u202f234\u00a0567', undefined, undefined],
  ["12'345.6", '12345.6', undefined],
  ['1\u00a0234', '1234', '1234'],
  ['+7', '7', '7'],
  ['.5', '0.5', undefined],
  ['1e3', '1e3', '1e3'],
  ['12,34,567', undefined, undefined],
  ['1,23.4', undefined, undefined],
  ['1..2', undefined, undefined],
  ['seven', undefined, undefined],
  ['', undefined, undefined],
])('reads %s as %s with a decimal point, and as %s with a decimal comma', (text, point, comma) => {
  expect([normalizeNumber(text, 'point'), normalizeNumber(` ${text}`, 'comma')]).toEqual([point, comma])
})

/** The decision about a column with these cells, from line 2 on. */
function decide(cells: readonly string[], delimiter = ';') {
  const findings: Findings = {}
  for (const [index, cell] of cells.entries())
    findDecimalMarks(findings, { delimiter, columns: [1] }, { line: index + 2, cells: ['', cell] })
  return decideDecimalMark(findings[1] ?? {}, 'customFieldValues.price')
}

test('one number with a decimal comma decides for its column', () => {
  expect(decide(['1.234', '7', '1.234,56'])).toBe('comma')
  expect(decide(['1,234', '0,5'])).toBe('comma')
  expect(decide(['1.234', '12,5'], ',')).toBe('comma')
})

test('one number with a decimal point decides for its column', () => {
  expect(decide(['1,234', '1,234.56'])).toBe('point')
  expect(decide(['1.234', '0.5'])).toBe('point')
})

test('a column without decimals or separators needs no decision', () => {
  expect(decide(['', '7', 'many'])).toBe('point')
})

test('"1.234" has a decimal point, unless cells are separated by semicolons', () => {
  expect(decide(['1.234'], ',')).toBe('point')
  expect(() => decide(['7', '1.234'])).toThrow('customFieldValues.price: numbers can be read with decimals or with')
  expect(() => decide(['1,234'], ',')).toThrow('thousands separators')
})

test('a column with both marks is reported with both lines', () => {
  expect(() => decide(['7', '0.5', '0,5', '1.5'])).toThrow('has decimal points (line 3) and decimal commas (line 4)')
})
