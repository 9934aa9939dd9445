import { expect, test } from 'vitest'
import { microBatch } from './micro-batch.ts'

test('what comes while a call is under way goes together in the next, and each gets the answer in its place', async () => {
  const calls: number[][] = []
  const double = microBatch(async (numbers: number[]) => {
    calls.push(numbers)
    return numbers.map((number) => number * 2)
  })
  expect(await Promise.all([1, 2, 3, 4].map((number) => double(number)))).toEqual([2, 4, 6, 8])
  expect(calls).toEqual([[1], [2, 3, 4]])
})

test('a call that fails fails those who were part of it, and nobody after them', async () => {
  const answer = microBatch(async (numbers: number[]) => {
    if (numbers.includes(0)) throw new Error('no zero')
    return numbers
  })
  const first = answer(1)
  const others = await Promise.allSettled([answer(0), answer(2)])
  expect(others).toMatchObject([{ reason: { message: 'no zero' } }, { reason: { message: 'no zero' } }])
  expect([await first, await answer(3)]).toEqual([1, 3])
})

test('of very many a hundred go at a time', async () => {
  const sizes: number[] = []
  const answer = microBatch(async (numbers: number[]) => {
    sizes.push(numbers.length)
    return numbers
  })
  const all = Array.from({ length: 251 }, (_, number) => number)
  expect(await Promise.all(all.map((number) => answer(number)))).toEqual(all)
  expect(sizes).toEqual([1, 100, 100, 50])
})

test('nobody waits for the end of a call that takes long', async () => {
  const long = Promise.withResolvers<string[]>()
  const answer = microBatch((names: string[]) => (names.includes('long') ? long.promise : Promise.resolve(names)))
  const first = answer('long')
  expect(await answer('short')).toBe('short')
  long.resolve(['at last'])
  expect(await first).toBe('at last')
})

test('groups go apart, and wait for none but their own', async () => {
  const held = Promise.withResolvers<string[]>()
  const calls: string[][] = []
  const answer = microBatch(
    (names: string[]) => {
      calls.push(names)
      return names.includes('a1') ? held.promise : Promise.resolve(names)
    },
    (name) => name[0],
  )
  const first = answer('a1')
  expect(await Promise.all(['b1', 'b2', 'b3'].map((name) => answer(name)))).toEqual(['b1', 'b2', 'b3'])
  expect(calls).toEqual([['a1'], ['b1'], ['b2', 'b3']])
  held.resolve(['a1'])
  expect(await first).toBe('a1')
})
