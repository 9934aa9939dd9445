import { expect, test } from 'vitest'
import { collectAddresses } from './address-table.ts'
import { words } from './source-words.ts'

test('finds each of many addresses with its last word, whatever its case, and no other', () => {
  const collector = collectAddresses()
  const count = 5_000
  const emailOf = (at: number) => `Person${at}@example.com`
  for (let at = 0; at < count; at++) collector.add(emailOf(at), words[at % 3] ?? 'refused')
  // The strictest word of several counts, in any order.
  collector.add(emailOf(0).toUpperCase(), 'refused')
  collector.add(emailOf(2), 'mailable')
  const table = collector.complete()
  expect(table.size).toBe(count)
  const wordOf = (at: number) => {
    const position = table.find(emailOf(at).toLowerCase())
    return position === undefined ? undefined : table.wordOf(position)
  }
  const expected = Array.from({ length: count }, (_, at) => (at === 0 ? 'refused' : words[at % 3]))
  expect(Array.from({ length: count }, (_, at) => wordOf(at))).toEqual(expected)
  expect(new Set(Array.from({ length: count }, (_, at) => table.find(emailOf(at))))).toHaveProperty('size', count)
  expect(table.find('other@example.com')).toBeUndefined()
})

test('an empty source has no address', () => {
  expect(collectAddresses().complete().find('ada@example.com')).toBeUndefined()
})
