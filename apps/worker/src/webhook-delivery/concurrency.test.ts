import { newId } from '@rapport/core/kernel/ids.ts'
import { expect, test } from 'vitest'
import { createConcurrencyMemory, nextConcurrency } from './concurrency.ts'

const response = { responseStatus: 200 }
const failure = { responseStatus: 500 }
const silence = { responseStatus: null }

test('a new receiver gets one request at a time, and twice as many after each round, up to twenty', () => {
  const [memory, webhookId] = [createConcurrencyMemory(), newId('whk')]
  const seen = Array.from({ length: 7 }, () => {
    const concurrency = memory.get(webhookId)
    memory.adapt(webhookId, [response])
    return concurrency
  })
  expect(seen).toEqual([1, 2, 4, 8, 16, 20, 20])
})

test('a response counts whatever its status is', () => {
  expect(nextConcurrency(4, [response, failure])).toBe(8)
})

test('one attempt without a response brings it down to one', () => {
  expect(nextConcurrency(20, [response, silence, response])).toBe(1)
  expect(nextConcurrency(1, [silence])).toBe(1)
})

test('receivers are remembered apart', () => {
  const memory = createConcurrencyMemory()
  const [quick, silent] = [newId('whk'), newId('whk')]
  for (const webhookId of [quick, silent]) memory.adapt(webhookId, [response])
  memory.adapt(silent, [silence])
  expect([memory.get(quick), memory.get(silent)]).toEqual([2, 1])
})
