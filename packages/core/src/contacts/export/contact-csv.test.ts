import { expect, test } from 'vitest'
import { stringifyCsv } from './contact-csv.ts'

test('quotes cells where needed and escapes formulas', () => {
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
  expect(stringifyCsv(cells.map((cell) => [cell]))).toBe(
    `${['""', 'plain', '"a,b"', '"a""b"', '"a\rb"', '"a\nb"', "'=1", "'+1", "'-1", "'@a", "'\t1", `"'\r1"`, `"'=a,b"`, "'", '1=1', 'ü'].join('\n')}\n`,
  )
})

test('leaves a missing cell empty and quotes an empty text', () => {
  expect(stringifyCsv([[null, '', null]])).toBe(',"",\n')
})
