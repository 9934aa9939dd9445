import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { limitInTurns } from './limit-in-turns.ts'

test('a slot rests after a call for as long as the call took, and the caller does not', async () => {
  const inTurn = limitInTurns(1, { rests: true, maxWaitMs: 10_000, message: 'busy' })
  const order: string[] = []
  const startedAt = performance.now()
  const first = inTurn('a', () => sleep(50)).then(() => order.push('first'))
  const second = inTurn('b', () => Promise.resolve(order.push('second')))
  await second
  expect(order).toEqual(['first', 'second'])
  expect(performance.now() - startedAt).toBeGreaterThan(95)
  await first
})
