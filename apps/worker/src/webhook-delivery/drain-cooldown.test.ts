import { randomUUID } from 'node:crypto'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { createDrainCooldown } from './drain-cooldown.ts'

test('a webhook is postponed for a second, and no other is', async () => {
  const postponed = createDrainCooldown()
  const [uuid, other] = [randomUUID(), randomUUID()]
  const startedAt = performance.now()
  postponed.start(uuid)
  expect([postponed.isActive(uuid), postponed.isActive(other)]).toEqual([true, false])
  await waitUntil(() => !postponed.isActive(uuid), { describe: 'the time is over' })
  expect(performance.now() - startedAt).toBeGreaterThan(900)
})
