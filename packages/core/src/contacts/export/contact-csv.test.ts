import { expect, test } from 'vitest'
import { stringifyCsv } from './contact-csv.ts'

test('a cell of CSV is quoted where it must be, and no formula', () => {
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

test('a missing cell is empty, an empty one is quoted', () => {
  expect(stringifyCsv([[null, '', null]])).toBe(',"",\n')
})
