import { expect, test } from 'vitest'
import { limitConcurrency } from './limit-concurrency.ts'

test('calls beyond the limit wait and start in the order of arrival', async () => {
  const runLimited = limitConcurrency(2)
  const ends = [1, 2, 3, 4].map(() => Promise.withResolvers<void>())
  const started: number[] = []
  const calls = ends.map((end, index) => runLimited(() => (started.push(index), end.promise)))
  await Promise.resolve()
  expect(started).toEqual([0, 1])
  ends[1]?.resolve()
  await calls[1]
  await new Promise(setImmediate)
  expect(started).toEqual([0, 1, 2])
  for (const end of ends) end.resolve()
  await Promise.all(calls)
  expect(started).toEqual([0, 1, 2, 3])
})

test('a call is rejected while the waiting queue is full', async () => {
  const runLimited = limitConcurrency(1, { maxWaiting: 1, message: 'Too many exports' })
  const end = Promise.withResolvers<void>()
  const calls = [runLimited(() => end.promise), runLimited(async () => 'second')]
  await expect(runLimited(async () => 'third')).rejects.toMatchObject({
    code: 'unavailable',
    message: 'Too many exports',
  })
  end.resolve()
  expect((await Promise.all(calls))[1]).toBe('second')
  await expect(runLimited(async () => 'fourth')).resolves.toBe('fourth')
})

test('a failed call rejects and frees its slot', async () => {
  const runLimited = limitConcurrency(1)
  await expect(runLimited(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  await expect(runLimited(async () => 'next')).resolves.toBe('next')
})
