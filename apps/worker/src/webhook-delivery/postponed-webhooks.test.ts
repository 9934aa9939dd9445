import { randomUUID } from 'node:crypto'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { createPostponedWebhooks } from './postponed-webhooks.ts'

test('a webhook is postponed for a second, and no other is', async () => {
  const postponed = createPostponedWebhooks()
  const [uuid, other] = [randomUUID(), randomUUID()]
  const startedAt = performance.now()
  postponed.add(uuid)
  expect([postponed.has(uuid), postponed.has(other)]).toEqual([true, false])
  await waitUntil(() => !postponed.has(uuid), { describe: 'the time is over' })
  expect(performance.now() - startedAt).toBeGreaterThan(900)
})
