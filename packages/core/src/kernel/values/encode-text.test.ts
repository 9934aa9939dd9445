import { expect, test } from 'vitest'
import { escapeLike, escapeRegExp, hashText } from './encode-text.ts'

test('an escaped text matches only itself in a regular expression', () => {
  const text = 'a.*+?^${}()|[]\\b-1'
  expect(new RegExp(`^${escapeRegExp(text)}$`).test(text)).toBe(true)
  expect(new RegExp(`^${escapeRegExp('a.c')}$`).test('abc')).toBe(false)
})

test('the wildcards and the backslash of a LIKE pattern are escaped', () => {
  expect(escapeLike('50%_\\x')).toBe('50\\%\\_\\\\x')
})

test('the hash of a text is SHA-256 as base64url', () => {
  expect(hashText('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  expect(hashText(Buffer.from('abc'))).toBe(hashText('abc'))
})
