import { expect, test } from 'vitest'
import { isNamedIn, likePatterns, type ErasedPerson } from './erased-person.ts'

const person: ErasedPerson = { contactIds: [], emails: ['ada@example.com', 'a_b+%@x.org'], deletedAt: new Date() }

test.each([
  'ada@example.com',
  '550 5.1.1 <ADA@example.com>: unknown',
  "Write to 'ada@example.com'.",
  'mailto:ada@example.com,',
  ['x', { message: 'line 1\nada@example.com' }],
  { error: 'a_b+%@x.org' },
])('an address is found in %j', (value) => expect(isNamedIn(person, value)).toBe(true))

test.each([
  'lada@example.com',
  'x+ada@example.com',
  'j.ada@example.com',
  'ada@example.com.au',
  'ada@example.community',
  'ada@example.com-mail.org',
  'ada@examplexcom',
  'axb+%@x.org',
  { email: null, count: 3, tags: [] },
  undefined,
])('an address is not found in %j', (value) => expect(isNamedIn(person, value)).toBe(false))

test('the patterns for SQL escape wildcards', () => {
  expect(likePatterns(person)).toEqual(['%ada@example.com%', String.raw`%a\_b+\%@x.org%`])
})
