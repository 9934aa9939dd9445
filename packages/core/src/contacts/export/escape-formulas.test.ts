import fc from 'fast-check'
import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { escapeFormulas, unescapeFormulas } from './escape-formulas.ts'

test.each([
  ['=1', "'=1"],
  ['＝1', "'＝1"],
  ['＋1', "'＋1"],
  ['－1', "'－1"],
  ['＠a', "'＠a"],
  [' =1', "' =1"],
  ['\u00a0\u3000=1', "'\u00a0\u3000=1"],
  [`"=1"`, `'"=1"`],
  ["'=1", "''=1"],
  ['\n1', "'\n1"],
  ['\n=1', "'\n'=1"],
  ["x;=cmd|'/c calc'!A1", "x;'=cmd|'/c calc'!A1"],
  ['x; "=1"', `x;' "=1"`],
  ['x;;=1', "x;;'=1"],
  ['x\t@a', "x\t'@a"],
  ['x\n=1', "x\n'=1"],
  ['x\r=1', "x\r'=1"],
  ['x\r\n=1', "x\r\n'=1"],
])('escapes %j as %j', (text, escaped) => {
  expect(escapeFormulas(text)).toBe(escaped)
  expect(unescapeFormulas(escaped)).toBe(text)
})

test.each(['', 'a', "'", "O'Brien", "'tis", '1=1', 'a=b;c', 'a, -b', 'a\n\nb', '2026-11-21', 'ada@example.com'])(
  'leaves %j unchanged',
  (text) => {
    expect(escapeFormulas(text)).toBe(text)
    expect(unescapeFormulas(text)).toBe(text)
  },
)

const ugly = fc.string({ unit: fc.constantFrom(...Array.from('=+-@＝;\t\r\n"\' ax\u00a0')), maxLength: 30 })

const seed = chooseSeed(20_261_125)

test(`an escaped text has no formula, and every text is restored (seed ${seed})`, () => {
  fc.assert(
    fc.property(ugly, (text) => {
      const escaped = escapeFormulas(text)
      expect(unescapeFormulas(escaped)).toBe(text)
      for (const part of escaped.split(/[;\t\n]|\r\n?/)) expect(part).not.toMatch(/^[\s"]*[=+\-@＝]/)
      expect(escaped).not.toMatch(/^[\t\r\n]/)
    }),
    { seed, numRuns: countRuns({ gate: 500, full: 50_000 }) },
  )
})

test('a long run of line breaks before a sign takes linear time', () => {
  const text = `x${'\n'.repeat(1_000_000)}x${';'.repeat(1_000_000)}=1`
  expect(escapeFormulas(text)).toHaveLength(text.length + 1)
})
