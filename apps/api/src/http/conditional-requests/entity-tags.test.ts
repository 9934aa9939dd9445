import { expect, test } from 'vitest'
import { isNotModified, readIfMatch, toVersions, undoCompression } from './entity-tags.ts'

test.each([
  ['"abc"', []],
  ['W/"abc"', ['W/']],
  ['"abc-gzip"', ['-gzip']],
  ['"abc--gzip"', ['--gzip']],
  ['"abc;br"', [';br']],
  ['W/"abc-zstd"', ['W/', '-zstd']],
])('what a proxy has added to %s is found', (tag, additions) => {
  expect(undoCompression(tag)).toContainEqual({ original: '"abc"', additions })
  expect(isNotModified(tag, '"abc"')).toBe(true)
})

test('a hash that ends in a hyphen, or like a suffix, names its own version', () => {
  expect(undoCompression('"abc--gzip"')).toEqual([
    { original: '"abc--gzip"', additions: [] },
    { original: '"abc-"', additions: ['-gzip'] },
    { original: '"abc"', additions: ['--gzip'] },
  ])
  expect(toVersions(['"abc-gzip"', 'W/"x"'])).toEqual(['"abc-gzip"', '"abc"', '"x"'])
  expect(isNotModified('"abc-br"', '"abc-gzip"')).toBe(false)
})

test('If-Match is "*" or a list of tags, which may have empty elements', () => {
  expect([undefined, ' * ', '"a"', ',"a,b" , W/"",'].map(readIfMatch)).toEqual([
    undefined,
    '*',
    ['"a"'],
    ['"a,b"', 'W/""'],
  ])
  for (const malformed of ['', ',', 'a', '"a', '"a" "b"', '*, "a"', 'W/', '"a";'])
    expect(() => readIfMatch(malformed)).toThrow('If-Match: must be "*" or a list of ETags in double quotes')
})
