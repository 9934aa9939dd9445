import { newId, type WorkspaceId } from '@rapport/core/kernel/ids.ts'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createFairSlots, type FairSlots } from './fair-slots.ts'

const [a, b, c] = [newId('wsp'), newId('wsp'), newId('wsp')]
const longWait = 60_000

/** Takes places without waiting, until there is none. */
async function fill(places: FairSlots, workspaceId: WorkspaceId): Promise<number> {
  let count = 0
  while (await places.acquire(workspaceId, 0)) count += 1
  return count
}

test('a workspace gets half of the places that no other workspace has', async () => {
  const places = createFairSlots(40)
  expect(await fill(places, a)).toBe(20)
  expect(await fill(places, b)).toBe(10)
  expect(await fill(places, c)).toBe(5)
})

test('a workspace gets one place at least, while there is one, and no more than its maximum', async () => {
  expect(await fill(createFairSlots(1), a)).toBe(1)
  const places = createFairSlots(100, 3)
  expect([await fill(places, a), await fill(places, b)]).toEqual([3, 3])
})

test('there are never more places in use than the size', async () => {
  const places = createFairSlots(10)
  let count = 0
  for (let workspace = 0; workspace < 30; workspace++) count += await fill(places, newId('wsp'))
  expect(count).toBe(10)
})

test('a place that is released goes to the waiting workspace with the fewest', async () => {
  const places = createFairSlots(4)
  expect([await fill(places, a), await fill(places, b)]).toEqual([2, 1])
  await places.acquire(c, 0)
  const order: string[] = []
  const waitFor = async (workspaceId: WorkspaceId, name: string) => {
    if (await places.acquire(workspaceId, longWait)) order.push(name)
  }
  void waitFor(b, 'b')
  void waitFor(newId('wsp'), 'new')
  await turn()
  expect(order).toEqual([])
  places.release(a)
  await turn()
  expect(order).toEqual(['new'])
  places.release(a)
  await turn()
  // b has its share of one: the rest is for others.
  expect(order).toEqual(['new'])
  places.release(b)
  await turn()
  expect(order).toEqual(['new', 'b'])
})

test('without a place in time the answer is no, and the place that comes later is left to others', async () => {
  const places = createFairSlots(1)
  await places.acquire(a, 0)
  expect(await places.acquire(b, 0)).toBe(false)
  expect(await places.acquire(b, 5)).toBe(false)
  places.release(a)
  expect(await places.acquire(c, 0)).toBe(true)
  places.release(c)
  expect(await fill(places, a)).toBe(1)
})

test('any number of jobs that wait get their turns, and every place comes back', async () => {
  const places = createFairSlots(5)
  let [now, most, done] = [0, 0, 0]
  const work = async (workspaceId: WorkspaceId) => {
    expect(await places.acquire(workspaceId, longWait)).toBe(true)
    most = Math.max(most, ++now)
    await turn()
    now -= 1
    done += 1
    places.release(workspaceId)
  }
  await Promise.all([a, b, c].flatMap((workspaceId) => Array.from({ length: 50 }, () => work(workspaceId))))
  expect(most).toBeLessThanOrEqual(5)
  expect([done, now]).toEqual([150, 0])
  expect(await fill(places, a)).toBe(2)
})
