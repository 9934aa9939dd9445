import { newId, type WorkspaceId } from '../ids.ts'
import { setImmediate as nextTick } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createFairSlots, type FairSlots } from './fair-slots.ts'

const [a, b, c] = [newId('wsp'), newId('wsp'), newId('wsp')]
const longWait = 60_000

/** Acquires slots until none is free. Returns how many were acquired. */
async function acquireAll(slots: FairSlots, workspaceId: WorkspaceId): Promise<number> {
  let count = 0
  while (await slots.acquire(workspaceId, 0)) count += 1
  return count
}

test('a workspace may hold half of the slots that other workspaces leave', async () => {
  const slots = createFairSlots(40)
  expect(await acquireAll(slots, a)).toBe(20)
  expect(await acquireAll(slots, b)).toBe(10)
  expect(await acquireAll(slots, c)).toBe(5)
})

test('a workspace may hold at least one slot and at most its maximum', async () => {
  expect(await acquireAll(createFairSlots(1), a)).toBe(1)
  const slots = createFairSlots(100, () => 3)
  expect([await acquireAll(slots, a), await acquireAll(slots, b)]).toEqual([3, 3])
})

test('the number of held slots never exceeds the size', async () => {
  const slots = createFairSlots(10)
  let count = 0
  for (let workspace = 0; workspace < 30; workspace++) count += await acquireAll(slots, newId('wsp'))
  expect(count).toBe(10)
})

test('a released slot goes to the waiting workspace that holds the fewest slots', async () => {
  const slots = createFairSlots(4)
  expect([await acquireAll(slots, a), await acquireAll(slots, b)]).toEqual([2, 1])
  await slots.acquire(c, 0)
  const order: string[] = []
  const waitFor = async (workspaceId: WorkspaceId, name: string) => {
    if (await slots.acquire(workspaceId, longWait)) order.push(name)
  }
  void waitFor(b, 'b')
  void waitFor(newId('wsp'), 'new')
  await nextTick()
  expect(order).toEqual([])
  slots.release(a)
  await nextTick()
  expect(order).toEqual(['new'])
  slots.release(a)
  await nextTick()
  // b holds its share of one slot; the remaining slot is reserved for other workspaces.
  expect(order).toEqual(['new'])
  slots.release(b)
  await nextTick()
  expect(order).toEqual(['new', 'b'])
})

test('acquire returns false after a timeout, and a slot released later stays free', async () => {
  const slots = createFairSlots(1)
  await slots.acquire(a, 0)
  expect(await slots.acquire(b, 0)).toBe(false)
  expect(await slots.acquire(b, 5)).toBe(false)
  slots.release(a)
  expect(await slots.acquire(c, 0)).toBe(true)
  slots.release(c)
  expect(await acquireAll(slots, a)).toBe(1)
})

test('every waiting job gets a slot, and every slot is released', async () => {
  const slots = createFairSlots(5)
  let [active, maxActive, done] = [0, 0, 0]
  const work = async (workspaceId: WorkspaceId) => {
    expect(await slots.acquire(workspaceId, longWait)).toBe(true)
    maxActive = Math.max(maxActive, ++active)
    await nextTick()
    active -= 1
    done += 1
    slots.release(workspaceId)
  }
  await Promise.all([a, b, c].flatMap((workspaceId) => Array.from({ length: 50 }, () => work(workspaceId))))
  expect(maxActive).toBeLessThanOrEqual(5)
  expect([done, active]).toEqual([150, 0])
  expect(await acquireAll(slots, a)).toBe(2)
})

test('work is admitted in the order of arrival, and workspaces take turns', async () => {
  const slots = createFairSlots(1)
  await slots.acquire(c, 0)
  const order: string[] = []
  const work = async (workspaceId: WorkspaceId, name: string) => {
    await slots.acquire(workspaceId, longWait)
    order.push(name)
    slots.release(workspaceId)
  }
  const all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => work(name.startsWith('a') ? a : b, name))
  slots.release(c)
  await Promise.all(all)
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
})

test('aborted work leaves the queue', async () => {
  const slots = createFairSlots(1)
  await slots.acquire(a, 0)
  const client = new AbortController()
  const left = slots.acquire(b, longWait, client.signal)
  client.abort()
  expect(await left).toBe(false)
  expect(await slots.acquire(b, longWait, client.signal)).toBe(false)
  slots.release(a)
  expect(await acquireAll(slots, c)).toBe(1)
})

test('each workspace can have a maximum of its own', async () => {
  const slots = createFairSlots(Number.POSITIVE_INFINITY, (workspaceId) => (workspaceId === a ? 3 : 5))
  expect([await acquireAll(slots, a), await acquireAll(slots, b), await acquireAll(slots, a)]).toEqual([3, 5, 0])
})
