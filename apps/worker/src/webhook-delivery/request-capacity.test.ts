import { newId } from '@rapport/core/kernel/ids.ts'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRequestCapacity } from './request-capacity.ts'

const workspaceId = newId('wsp')

test('one drain may have as many requests out as its workspace, and not more', () => {
  const drain = createRequestCapacity(20).openDrain(workspaceId)
  expect([drain.reserve(1), drain.reserve(8), drain.reserve(50)]).toEqual([1, 8, 20])
})

test('the drains of a workspace share its requests equally', () => {
  const capacity = createRequestCapacity(20)
  const drains = [capacity.openDrain(workspaceId), capacity.openDrain(workspaceId), capacity.openDrain(workspaceId)]
  expect(drains.map((drain) => drain.reserve(20))).toEqual([6, 6, 6])
  expect(capacity.openDrain(newId('wsp')).reserve(20)).toBe(20)
})

test('a drain that comes later gets what the others leave, and its share as they give back', () => {
  const capacity = createRequestCapacity(20)
  const [first, second] = [capacity.openDrain(workspaceId), capacity.openDrain(workspaceId)]
  first.close()
  expect(second.reserve(20)).toBe(20)
  const third = capacity.openDrain(workspaceId)
  expect(third.reserve(20)).toBe(0)
  second.setInFlight(15)
  expect(third.reserve(20)).toBe(5)
  second.setInFlight(5)
  expect([second.reserve(20), third.reserve(20)]).toEqual([10, 10])
})

test('of more drains than requests, each gets one in turn', () => {
  const capacity = createRequestCapacity(3)
  const drains = Array.from({ length: 5 }, () => capacity.openDrain(workspaceId))
  expect(drains.map((drain) => drain.reserve(20))).toEqual([1, 1, 1, 0, 0])
  drains[0]?.close()
  expect(drains[3]?.reserve(20)).toBe(1)
})

test('a drain that got none is notified when another gives some back', async () => {
  const capacity = createRequestCapacity(1)
  const [busy, waiting] = [capacity.openDrain(workspaceId), capacity.openDrain(workspaceId)]
  busy.reserve(1)
  let notified = 0
  void waiting.whenReleased().then(() => (notified += 1))
  busy.setInFlight(1)
  await turn()
  expect(notified).toBe(0)
  busy.setInFlight(0)
  await turn()
  expect([notified, waiting.reserve(1)]).toEqual([1, 1])
  void busy.whenReleased().then(() => (notified += 1))
  waiting.close()
  await turn()
  expect(notified).toBe(2)
})
