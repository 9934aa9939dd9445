import { expect, test } from 'vitest'
import { suggestForEach, suggestNear, withSuggestion } from './suggestion.ts'

const fields = ['email', 'firstName', 'lastName', 'phone', 'company', 'tags', 'customFieldValues', 'id']

test.each([
  ['frstName', 'firstName'],
  ['fristName', 'firstName'],
  ['firstNames', 'firstName'],
  ['emial', 'email'],
  ['mail', 'email'],
  ['tag', 'tags'],
  ['customFieldValue', 'customFieldValues'],
  ['customFeildsValue', 'customFieldValues'],
])('suggests the nearest candidate for a mistyped word: %s', (word, meant) => {
  expect(suggestNear(word, fields)).toBe(meant)
})

test.each(['first_name', 'FirstName', 'FIRST-NAME', 'firstname', 'first name'])(
  'suggests a candidate that differs by case or separators only: %s',
  (word) => expect(suggestNear(word, ['firstNames', 'firstName', 'first'])).toBe('firstName'),
)

test.each(['', 'x', 'd', 'surname', 'fax', 'constructor', '__proto__', '🦉', 'f'.repeat(1_000_000)])(
  'suggests nothing if no candidate is near: %.20s',
  (word) => expect(suggestNear(word, fields)).toBeUndefined(),
)

test('suggests the first of several candidates that are equally near', () => {
  expect(suggestNear('plam', ['plan', 'plum', 'slam'])).toBe('plan')
  expect(suggestNear('plan', [])).toBeUndefined()
})

test('suggests nothing if only half of the characters are equal', () => {
  expect(suggestNear('page', ['tag', 'cursor', 'limit', 'sort'])).toBeUndefined()
  expect(suggestNear('stat', ['status'])).toBe('status')
})

test('does not replace every character of a word', () => {
  expect(suggestNear('a', ['b'])).toBeUndefined()
  expect(suggestNear('ab', ['ac', 'cd'])).toBe('ac')
  expect(suggestNear('a', ['A'])).toBe('A')
})

test('ends a message with the suggestion, if there is one', () => {
  expect(withSuggestion('unknown field "first_name"', 'first_name', fields)).toBe(
    'unknown field "first_name" (did you mean "firstName"?)',
  )
  expect(withSuggestion('unknown field "fax"', 'fax', fields)).toBe('unknown field "fax"')
})

test('only the first five of many unknown words get a suggestion', () => {
  const messages = suggestForEach('unknown field', Array<string>(1_000).fill('emial'), fields)
  expect(messages).toHaveLength(1_000)
  expect(messages.filter((message) => message === 'unknown field (did you mean "email"?)')).toHaveLength(5)
  expect(messages.slice(5).every((message) => message === 'unknown field')).toBe(true)
})
