import { expect, test } from 'vitest'
import { exceedsSize, requireSize } from './stored-size.ts'

const maxBytes = 4_096
const text = (length: number) => 'x'.repeat(length)

test('a limit counts bytes of UTF-8, of values as JSON', () => {
  expect(exceedsSize(text(4_096), maxBytes)).toBe(false)
  expect(exceedsSize(text(4_097), maxBytes)).toBe(true)
  expect(exceedsSize('€'.repeat(1_366), maxBytes)).toBe(true)
  expect(exceedsSize({ a: text(4_088) }, maxBytes)).toBe(false)
  expect(exceedsSize({ a: text(4_089) }, maxBytes)).toBe(true)
})

test('the error names the field and the limit', () => {
  expect(() => requireSize('notes', text(4_097), maxBytes)).toThrow('notes: must have at most 4 KiB')
})
