import { idOf } from '@rapport/core/kernel/ids.ts'
import { expect, test } from 'vitest'
import { createConnectionSlots, mailConnections, type MailSource } from './connection-slots.ts'

const workspaces = [1, 2, 3, 4, 5].map((n) => idOf('wsp', `00000000-0000-7000-8000-00000000000${n}`))

/** Asks for connections for 25 mails of each source in turn. Returns how many of each get one. */
async function countStarted(sources: readonly MailSource[]): Promise<number[]> {
  const slots = createConnectionSlots()
  return startAll(slots, sources)
}

async function startAll(slots: ReturnType<typeof createConnectionSlots>, sources: readonly MailSource[]) {
  const started = sources.map(() => 0)
  for (const [index, source] of sources.entries()) {
    for (let n = 0; n < mailConnections; n++)
      void slots.take(source).then(() => (started[index] = (started[index] ?? 0) + 1))
  }
  await Promise.resolve()
  return started
}

test('the emails of a workspace use at most as many connections as they leave, and one', async () => {
  expect(await countStarted([...workspaces, 'single'])).toEqual([13, 6, 3, 2, 1, 0])
  expect(await countStarted([...workspaces.slice(0, 4), 'single'])).toEqual([13, 6, 3, 2, 1])
})

test('campaigns leave connections to single mails', async () => {
  expect(await countStarted(['campaign', ...workspaces.slice(0, 2), 'single'])).toEqual([20, 3, 1, 1])
})

test('single mails get the next connections, in their order, and then campaigns', async () => {
  const slots = createConnectionSlots()
  const order: string[] = []
  await startAll(slots, ['single'])
  void slots.take('campaign').then(() => order.push('campaign'))
  const [first, second] = workspaces
  if (!first || !second) throw new Error('The workspaces are missing')
  void slots.take(second).then(() => order.push('second'))
  void slots.take(first).then(() => order.push('first'))
  for (let n = 0; n < 6; n++) {
    slots.free('single')
    await Promise.resolve()
  }
  expect(order).toEqual(['second', 'first'])
  for (let n = 0; n < 2; n++) slots.free('single')
  await Promise.resolve()
  expect(order).toEqual(['second', 'first', 'campaign'])
})
