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

test('of a workspace 40 calls wait, and further ones are refused at once', async () => {
  const inTurn = limitInTurns(2, { maxPerWorkspace: 1, maxWaitMs: 60_000, message: 'busy' })
  const running = Promise.withResolvers<void>()
  const call = (workspaceId: string) => inTurn(workspaceId, () => running.promise)
  const held = Array.from({ length: 41 }, () => call('a'))
  await expect(call('a')).rejects.toMatchObject({ code: 'unavailable' })
  const other = Array.from({ length: 3 }, () => call('b'))
  running.resolve()
  await Promise.all([...held, ...other])
})
