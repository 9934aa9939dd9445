import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { microBatch } from './micro-batch.ts'

const range = (count: number) => Array.from({ length: count }, (_, number) => number)

test('items of one event loop turn share a call, and each gets its own result', async () => {
  const calls: number[][] = []
  const double = microBatch(async (numbers: number[]) => {
    calls.push(numbers)
    return numbers.map((number) => number * 2)
  })
  expect(await Promise.all([1, 2, 3, 4].map((number) => double(number)))).toEqual([2, 4, 6, 8])
  expect(await double(5)).toBe(10)
  expect(calls).toEqual([[1, 2, 3, 4], [5]])
})

test('items that arrive during a call share the next one', async () => {
  const calls: string[][] = []
  const isCalled = Promise.withResolvers<void>()
  const first = Promise.withResolvers<void>()
  const echo = microBatch(async (names: string[]) => {
    calls.push(names)
    isCalled.resolve()
    await first.promise
    return names
  })
  const results = [echo('a')]
  await isCalled.promise
  results.push(echo('b'), echo('c'))
  first.resolve()
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c'])
  expect(calls).toEqual([['a'], ['b', 'c']])
})

test('an error rejects the items of its own call only', async () => {
  const echo = microBatch(async (numbers: number[]) => {
    if (numbers.includes(0)) throw new Error('no zero')
    return numbers
  })
  const failed = await Promise.allSettled([echo(0), echo(2)])
  expect(failed).toMatchObject([{ reason: { message: 'no zero' } }, { reason: { message: 'no zero' } }])
  expect(await echo(3)).toBe(3)
})

test('a call has at most 100 items', async () => {
  const sizes: number[] = []
  const echo = microBatch(async (numbers: number[]) => {
    sizes.push(numbers.length)
    return numbers
  })
  expect(await Promise.all(range(251).map((number) => echo(number)))).toEqual(range(251))
  expect(sizes).toEqual([100, 100, 51])
})

test('an item does not wait for the end of a slow call', async () => {
  const slow = Promise.withResolvers<string[]>()
  const isCalled = Promise.withResolvers<void>()
  const echo = microBatch((names: string[]) => {
    isCalled.resolve()
    return names.includes('slow') ? slow.promise : Promise.resolve(names)
  })
  const first = echo('slow')
  await isCalled.promise
  expect(await echo('quick')).toBe('quick')
  slow.resolve(['at last'])
  expect(await first).toBe('at last')
})

test('groups never share a call and do not wait for each other', async () => {
  const slow = Promise.withResolvers<string[]>()
  const calls: string[][] = []
  const echo = microBatch(
    (names: string[]) => {
      calls.push(names)
      return names.includes('a1') ? slow.promise : Promise.resolve(names)
    },
    (name) => name[0],
  )
  const first = echo('a1')
  expect(await Promise.all(['b1', 'b2', 'b3'].map((name) => echo(name)))).toEqual(['b1', 'b2', 'b3'])
  expect(calls).toEqual([['a1'], ['b1', 'b2', 'b3']])
  slow.resolve(['a1'])
  expect(await first).toBe('a1')
})

test('only a call of one group runs in the async context of its items', async () => {
  const storage = new AsyncLocalStorage<string>()
  const work = async (items: string[]) => items.map(() => storage.getStore())
  const [shared, grouped] = [microBatch(work), microBatch(work, (item) => item)]
  const runIn = (name: string) => storage.run(name, () => Promise.all([shared(name), grouped(name)]))
  expect(await Promise.all([runIn('a'), runIn('b')])).toEqual([
    [undefined, 'a'],
    [undefined, 'b'],
  ])
})
