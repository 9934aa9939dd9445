import { expect, test } from 'vitest'
import { newId } from '../kernel/ids.ts'
import { type CheckedInput, mergeContact, mergePolicies, newContact, withTimeOfUpdate } from './merge-contact.ts'

type PolicyName = keyof typeof mergePolicies

const workspaceId = newId('wsp')
const current = newContact(workspaceId, {
  email: 'ada@example.com',
  firstName: 'Ada',
  phone: '+44 1',
  source: 'fair',
  tags: ['a', 'b'],
  customFieldValues: { plan: 'free', seats: 1 },
})
const input: CheckedInput = {
  firstName: '',
  lastName: 'Lovelace',
  phone: '+44 2',
  company: null,
  source: 'web',
  tags: ['b', 'c'],
  customFieldValues: { plan: null, seats: 2, vip: true },
}

const expected: Record<PolicyName, object> = {
  update: {
    firstName: '',
    phone: '+44 2',
    source: 'web',
    tags: ['b', 'c'],
    customFieldValues: { seats: 2, vip: true },
  },
  import: {
    firstName: 'Ada',
    phone: '+44 2',
    source: 'web',
    tags: ['a', 'b', 'c'],
    customFieldValues: { plan: 'free', seats: 2, vip: true },
  },
  fill: {
    firstName: 'Ada',
    phone: '+44 1',
    source: 'fair',
    tags: ['a', 'b', 'c'],
    customFieldValues: { plan: 'free', seats: 1, vip: true },
  },
  merge: {
    firstName: 'Ada',
    phone: '+44 1',
    source: 'fair',
    tags: ['a', 'b', 'c'],
    customFieldValues: { plan: 'free', seats: 1, vip: true },
  },
}
const names = Object.keys(expected) as PolicyName[]

test.each(names)('%s decides which values, tags and custom values win', (name) => {
  const merged = mergeContact(current, input, mergePolicies[name])
  expect(merged).toEqual({ ...current, lastName: 'Lovelace', ...expected[name] })
})

test.each(names)('%s without values changes nothing and keeps the time of the last update', (name) => {
  expect(withTimeOfUpdate(current, mergeContact(current, {}, mergePolicies[name]))).toBe(current)
})

test('an empty custom value is overwritten, and overwrites none but in an update', () => {
  const merge = (name: PolicyName, given: string, stored: string) =>
    mergeContact(
      { ...current, customFieldValues: { note: stored } },
      { customFieldValues: { note: given } },
      mergePolicies[name],
    ).customFieldValues['note']
  expect(names.map((name) => merge(name, 'new', ''))).toEqual(['new', 'new', 'new', 'new'])
  expect(names.map((name) => merge(name, '', 'old'))).toEqual(['', 'old', 'old', 'old'])
  expect(names.map((name) => merge(name, '', ''))).toEqual(['', '', '', ''])
})

test('only a merge of duplicates fills the source of a contact that has none', () => {
  const unknown = { ...current, source: null }
  const sources = names.map((name) => mergeContact(unknown, input, mergePolicies[name]).source)
  expect(sources).toEqual(['web', 'web', null, 'web'])
})

const tags = (count: number, prefix = 't') => Array.from({ length: count }, (_, n) => `${prefix}${n}`)
const tooManyTags = 'tags: a contact can have at most 100 tags'

test('a contact gets at most 100 tags; only a visitor gets no error', () => {
  const full = { ...current, tags: tags(99) }
  const merge = (name: PolicyName) => mergeContact(full, { tags: tags(2, 'u') }, mergePolicies[name]).tags
  expect(() => merge('import')).toThrow(tooManyTags)
  expect(() => merge('merge')).toThrow(tooManyTags)
  expect(merge('fill')).toEqual([...full.tags, 'u0'])
})

const tooLarge = 'customFieldValues: a record can have at most 16 KiB of custom field values'
const half = 'x'.repeat(9_000)

test('custom values are at most 16 KiB; only a visitor gets no error, and adds none', () => {
  const known = { ...current, customFieldValues: { a: half } }
  const merge = (name: PolicyName) => mergeContact(known, { customFieldValues: { b: half } }, mergePolicies[name])
  for (const name of ['update', 'import', 'merge'] as const) expect(() => merge(name)).toThrow(tooLarge)
  expect(merge('fill').customFieldValues).toEqual({ a: half })
  expect(() => newContact(workspaceId, { email: 'x@example.com', customFieldValues: { a: half, b: half } })).toThrow(
    tooLarge,
  )
})

test('values of a visitor that are too large alone are an error for any contact', () => {
  const large = { customFieldValues: { b: half, c: half } }
  expect(() => mergeContact(current, large, mergePolicies.fill)).toThrow(tooLarge)
})

test('a new contact takes all values of its input', () => {
  expect(newContact(workspaceId, { ...input, email: 'Ada@example.com' })).toMatchObject({
    email: 'Ada@example.com',
    firstName: '',
    lastName: 'Lovelace',
    source: 'web',
    tags: ['b', 'c'],
    customFieldValues: { seats: 2, vip: true },
  })
})
