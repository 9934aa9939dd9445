import { newId } from '@rapport/core/kernel/ids.ts'
import { setImmediate as nextTick } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRequestCapacity } from './request-capacity.ts'

const workspaceId = newId('wsp')

test('a single drain may use the whole request capacity of its workspace', () => {
  const drain = createRequestCapacity(() => 20).openDrain(workspaceId)
  expect([drain.reserve(1), drain.reserve(8), drain.reserve(50)]).toEqual([1, 8, 20])
})

test('the drains of a workspace share its request capacity equally', () => {
  const capacity = createRequestCapacity(() => 20)
  const drains = [capacity.openDrain(workspaceId), capacity.openDrain(workspaceId), capacity.openDrain(workspaceId)]
  expect(drains.map((drain) => drain.reserve(20))).toEqual([6, 6, 6])
  expect(capacity.openDrain(newId('wsp')).reserve(20)).toBe(20)
})

test('a later drain gets the remaining capacity, and its full share after a release', () => {
  const capacity = createRequestCapacity(() => 20)
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

test('with more drains than capacity, each drain gets one request until none is left', () => {
  const capacity = createRequestCapacity(() => 3)
  const drains = Array.from({ length: 5 }, () => capacity.openDrain(workspaceId))
  expect(drains.map((drain) => drain.reserve(20))).toEqual([1, 1, 1, 0, 0])
  drains[0]?.close()
  expect(drains[3]?.reserve(20)).toBe(1)
})

test('a drain without capacity is notified when another drain releases some', async () => {
  const capacity = createRequestCapacity(() => 1)
  const [busy, waiting] = [capacity.openDrain(workspaceId), capacity.openDrain(workspaceId)]
  busy.reserve(1)
  let notified = 0
  void waiting.whenReleased().then(() => (notified += 1))
  busy.setInFlight(1)
  await nextTick()
  expect(notified).toBe(0)
  busy.setInFlight(0)
  await nextTick()
  expect([notified, waiting.reserve(1)]).toEqual([1, 1])
  void busy.whenReleased().then(() => (notified += 1))
  waiting.close()
  await nextTick()
  expect(notified).toBe(2)
})
