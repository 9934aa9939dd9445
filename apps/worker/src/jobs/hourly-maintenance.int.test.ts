import { createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createFailingPeriod, readDrain, setDrainHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { readWebhook } from '@rapport/core/webhooks/webhooks.ts'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createTestDeps } from '../testing.ts'
import { runHourlyMaintenance } from './hourly-maintenance.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForTest(() => createTestDeps(database.db))

/** Runs the upkeep. Returns the lines of the log at info and above. */
async function maintain(over: Partial<typeof deps> = {}): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>)
  const log = pino({ base: null, timestamp: false }, { write })
  await runHourlyMaintenance({ ...deps, log, ...over })
  return lines
}

test('the upkeep warns about webhooks and disables others, with a line of the log for each', async () => {
  const [weak, dead] = [await createTestWebhook(ctx), await createTestWebhook(ctx)]
  await setDrainHealth(ctx, weak.id, createFailingPeriod(30, 5))
  await setDrainHealth(ctx, dead.id, createFailingPeriod(130, 14))
  const lines = await maintain()
  const { enabled, disabledReason } = await readWebhook(ctx, dead.id)
  expect([enabled, (await readDrain(ctx, weak.id))?.warnedAt]).toEqual([false, expect.any(Date)])
  const { workspaceId } = ctx
  expect(lines.filter((line) => line['webhookId'])).toEqual([
    { level: 40, workspaceId, webhookId: dead.id, reason: disabledReason, msg: 'a webhook was disabled' },
    { level: 30, workspaceId, webhookId: weak.id, msg: 'a warning about a failing webhook was enqueued' },
  ])
})

test('a worker that shuts down leaves the other webhooks to the next upkeep', async () => {
  const failing = [await createTestWebhook(ctx), await createTestWebhook(ctx)]
  for (const { id } of failing) await setDrainHealth(ctx, id, createFailingPeriod(130, 14))
  deps.stop()
  expect(await maintain()).toHaveLength(1)
  const states = await Promise.all(failing.map(async ({ id }) => (await readWebhook(ctx, id)).enabled))
  expect(states.filter((isEnabled) => isEnabled)).toHaveLength(1)
})

test('webhooks are checked even if a purge fails', async () => {
  const { id } = await createTestWebhook(ctx)
  await setDrainHealth(ctx, id, createFailingPeriod(130, 14))
  await database.pool.query('alter table login_failures rename to login_failures_away')
  await expect(maintain()).rejects.toThrow()
  await database.pool.query('alter table login_failures_away rename to login_failures')
  expect(await readWebhook(ctx, id)).toMatchObject({ enabled: false })
})
