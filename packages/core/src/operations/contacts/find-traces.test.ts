import { expect, test } from 'vitest'
import { idOf } from '../../kernel/ids.ts'
import { spellingsOf } from './find-traces.ts'

const email = 'Ada+news@example.com'
const spellings = spellingsOf({ email })
const isFound = (text: string) => spellings.some((spelling) => text.toLowerCase().includes(spelling))

test.each([
  ['as it is', `<${email}>`],
  ['in another case', email.toUpperCase()],
  ['in a query', `/contacts?email=${encodeURIComponent(email)}&limit=1`],
  ['with an encoded sign alone', 'Ada+news%40example.com'],
  ['encoded twice', 'Ada+news%2540example.com'],
  ['in HTML', 'Ada+news&#64;example.com'],
  ['in quoted-printable', 'Ada+news=40example.com'],
])('an address is found %s', (_where, text) => {
  expect(isFound(text)).toBe(true)
})

test.each([0, 1, 2, 3, 4, 5])('an address is found in base64 after %i other bytes', (count) => {
  const bytes = Buffer.from(`${'x'.repeat(count)}${email} and more`)
  expect([isFound(bytes.toString('base64')), isFound(bytes.toString('base64url'))]).toEqual([true, true])
})

test('another address is not found', () => {
  expect(isFound('ada@example.com')).toBe(false)
  expect(isFound(Buffer.from('x ada+news@example.org y').toString('base64'))).toBe(false)
})

test('a contact is found by its id and by its UUID', () => {
  const contactId = idOf('con', '01980000-0000-7000-8000-000000000001')
  expect(spellingsOf({ contactId })).toEqual([contactId, '01980000-0000-7000-8000-000000000001'])
})
