import { expect, test } from 'vitest'
import { toUpdated } from './changes.ts'

const base = { id: 'con_1', email: 'ada@example.com', tags: ['a'], customFieldValues: { plan: 'free', seats: 1 } }
const changesOf = (after: object, before: object = base) => toUpdated({ before, after: { ...before, ...after } }).data

test('changes name each changed field with both values', () => {
  const data = changesOf({ email: 'ada@example.org', tags: ['a', 'b'] })
  expect(data).toEqual({
    ...base,
    email: 'ada@example.org',
    tags: ['a', 'b'],
    changes: {
      email: { from: 'ada@example.com', to: 'ada@example.org' },
      tags: { from: ['a'], to: ['a', 'b'] },
    },
  })
})

test('custom values change one by one, and null stands for none', () => {
  const { changes } = changesOf({ customFieldValues: { seats: 1, plan: 'pro', note: '' } })
  expect(changes).toEqual({
    'customFieldValues.plan': { from: 'free', to: 'pro' },
    'customFieldValues.note': { from: null, to: '' },
  })
  expect(changesOf({ customFieldValues: {} }).changes).toEqual({
    'customFieldValues.plan': { from: 'free', to: null },
    'customFieldValues.seats': { from: 1, to: null },
  })
})

test('the times of the update and of the last activity are no changes', () => {
  const before = { ...base, updatedAt: '1', lastActivityAt: null }
  expect(changesOf({ updatedAt: '2', lastActivityAt: '2' }, before).changes).toEqual({})
})

test('keys of a prototype are ordinary fields', () => {
  const values = JSON.parse('{"__proto__": "x", "constructor": 1}') as object
  const { changed, data } = toUpdated({ before: base, after: { ...base, customFieldValues: values } })
  expect(changed).toEqual(expect.arrayContaining(['customFieldValues.__proto__', 'customFieldValues']))
  expect(data.changes).toMatchObject({ 'customFieldValues.constructor': { from: null, to: 1 } })
})

test('changes of more than 16 KiB are null, and their names are still known', () => {
  const text = (bytes: number) => 'é'.repeat(bytes / 2)
  const empty = JSON.stringify(changesOf({ notes: '' }, { ...base, notes: 'x' }).changes).length
  for (const [bytes, isKept] of [
    [16_384 - empty, true],
    [16_386 - empty, false],
  ] as const) {
    const { changed, data } = toUpdated({
      before: { ...base, notes: 'x' },
      after: { ...base, notes: text(bytes - (empty % 2)) },
    })
    expect([changed, data.changes !== null]).toEqual([['notes'], isKept])
  }
})
