import { newId } from '@rapport/core/kernel/ids.ts'
import { describe, expect, test } from 'vitest'
import { createReceiverMemory, initialSpeed, nextSpeed, type ReceiverSpeed } from './receiver-memory.ts'

const response = { responseStatus: 200, durationMs: 10 }
const failure = { responseStatus: 500, durationMs: 10 }
const noResponse = { responseStatus: null, durationMs: 10_000 }
const speedOf = (speed: Partial<ReceiverSpeed>): ReceiverSpeed => ({ ...initialSpeed, ...speed })

describe('the concurrency of a webhook', () => {
  test('starts at one and doubles with each round of responses up to twenty', () => {
    const concurrencies = [initialSpeed]
    for (let round = 0; round < 6; round++)
      concurrencies.push(nextSpeed(concurrencies.at(-1) ?? initialSpeed, [response]))
    expect(concurrencies.map(({ concurrency }) => concurrency)).toEqual([1, 2, 4, 8, 16, 20, 20])
  })

  test('doubles after an error response too', () => {
    expect(nextSpeed(speedOf({ concurrency: 4 }), [response, failure])).toMatchObject({ concurrency: 8 })
  })

  test('falls to one after an attempt without a response', () => {
    expect(nextSpeed(speedOf({ concurrency: 20 }), [response, noResponse, response])).toMatchObject({ concurrency: 1 })
    expect(nextSpeed(initialSpeed, [noResponse])).toMatchObject({ concurrency: 1 })
  })
})

describe('a receiver is slow', () => {
  const responses = (...durations: number[]) => durations.map((durationMs) => ({ responseStatus: 200, durationMs }))

  test('after an attempt without a response, until the next round of responses', () => {
    const speed = nextSpeed(initialSpeed, [response, response, noResponse])
    expect(speed.isSlow).toBe(true)
    expect(nextSpeed(speed, [response]).isSlow).toBe(false)
  })

  test('if the median of its last twenty response times is above a second', () => {
    expect(nextSpeed(initialSpeed, responses(5_000, 10, 10)).isSlow).toBe(false)
    const slow = nextSpeed(initialSpeed, responses(10, 2_000, 2_000))
    expect(slow.isSlow).toBe(true)
    expect(nextSpeed(slow, responses(...Array.from({ length: 18 }, () => 10))).isSlow).toBe(false)
  })
})

test('the share of a slow receiver falls with its latency, beside a fast one', () => {
  const speedAt = (durationMs: number) => nextSpeed(speedOf({ concurrency: 20 }), [{ responseStatus: 200, durationMs }])
  expect([1_000, 1_001, 2_000, 4_000, 9_000, 10_000].map((ms) => speedAt(ms).concurrencyBesideFast)).toEqual([
    20, 10, 5, 3, 2, 1,
  ])
  expect(speedAt(9_000).concurrency).toBe(20)
  expect(nextSpeed(speedOf({ concurrency: 2 }), [{ responseStatus: 200, durationMs: 2_000 }])).toMatchObject({
    concurrencyBesideFast: 4,
  })
})

test('the memory of a webhook is that of its workspace', () => {
  const memory = createReceiverMemory()
  const [workspaceId, other] = [newId('wsp'), newId('wsp')]
  const [responsive, unresponsive, silent] = [newId('whk'), newId('whk'), newId('whk')]
  for (const webhookId of [responsive, unresponsive]) memory.adapt(workspaceId, webhookId, [response])
  memory.adapt(workspaceId, unresponsive, [noResponse])
  memory.adapt(workspaceId, silent, [])
  const concurrencies = [...memory.read(workspaceId)].map(([id, { concurrency }]) => [id, concurrency])
  expect(concurrencies).toEqual([
    [responsive, 2],
    [unresponsive, 1],
  ])
  expect(memory.read(other).size).toBe(0)
})
