import { randomUUID } from 'node:crypto'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { createDrainCooldown } from './drain-cooldown.ts'

test('a cooldown lasts its time and applies to one webhook', async () => {
  const cooldown = createDrainCooldown(50)
  const [uuid, other] = [randomUUID(), randomUUID()]
  const startedAt = performance.now()
  cooldown.start(uuid)
  expect([cooldown.isActive(uuid), cooldown.isActive(other)]).toEqual([true, false])
  await waitUntil(() => !cooldown.isActive(uuid), { describe: 'the cooldown is over' })
  expect(performance.now() - startedAt).toBeGreaterThan(45)
})
