import { newId } from '@rapport/core/kernel/ids.ts'
import { expect, test } from 'vitest'
import { createConcurrencyMemory, nextConcurrency } from './concurrency.ts'

const response = { responseStatus: 200 }
const failure = { responseStatus: 500 }
const noResponse = { responseStatus: null }

test('concurrency starts at one and doubles with each round of responses up to twenty', () => {
  const [memory, webhookId] = [createConcurrencyMemory(), newId('whk')]
  const concurrencies = Array.from({ length: 7 }, () => {
    const concurrency = memory.get(webhookId)
    memory.adapt(webhookId, [response])
    return concurrency
  })
  expect(concurrencies).toEqual([1, 2, 4, 8, 16, 20, 20])
})

test('an error response counts as a response', () => {
  expect(nextConcurrency(4, [response, failure])).toBe(8)
})

test('an attempt without a response resets concurrency to one', () => {
  expect(nextConcurrency(20, [response, noResponse, response])).toBe(1)
  expect(nextConcurrency(1, [noResponse])).toBe(1)
})

test('each webhook has its own concurrency', () => {
  const memory = createConcurrencyMemory()
  const [responsive, unresponsive] = [newId('whk'), newId('whk')]
  for (const webhookId of [responsive, unresponsive]) memory.adapt(webhookId, [response])
  memory.adapt(unresponsive, [noResponse])
  expect([memory.get(responsive), memory.get(unresponsive)]).toEqual([2, 1])
})
