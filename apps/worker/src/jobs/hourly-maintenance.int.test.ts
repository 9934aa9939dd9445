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

/** Runs the hourly maintenance. Returns its log lines of level info and above. */
async function maintain(overrides: Partial<typeof deps> = {}): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>)
  const log = pino({ base: null, timestamp: false }, { write })
  await runHourlyMaintenance({ ...deps, log, ...overrides })
  return lines
}

test('warns about failing webhooks, disables others, and logs each', async () => {
  const [failing, failed] = [await createTestWebhook(ctx), await createTestWebhook(ctx)]
  await setDrainHealth(ctx, failing.id, createFailingPeriod(30, 5))
  await setDrainHealth(ctx, failed.id, createFailingPeriod(130, 14))
  const lines = await maintain()
  const { enabled, disabledReason } = await readWebhook(ctx, failed.id)
  expect([enabled, (await readDrain(ctx, failing.id))?.warnedAt]).toEqual([false, expect.any(Date)])
  const { workspaceId } = ctx
  expect(lines.filter((line) => line['webhookId'])).toEqual([
    { level: 40, workspaceId, webhookId: failed.id, reason: disabledReason, msg: 'webhook disabled' },
    { level: 30, workspaceId, webhookId: failing.id, msg: 'webhook failure warning enqueued' },
  ])
})

test('a worker that shuts down leaves other webhooks to the next run', async () => {
  const failing = [await createTestWebhook(ctx), await createTestWebhook(ctx)]
  for (const { id } of failing) await setDrainHealth(ctx, id, createFailingPeriod(130, 14))
  deps.stop()
  expect(await maintain()).toHaveLength(1)
  const states = await Promise.all(failing.map(async ({ id }) => (await readWebhook(ctx, id)).enabled))
  expect(states.filter((isEnabled) => isEnabled)).toHaveLength(1)
})

test('checks webhooks even if a purge fails', async () => {
  const { id } = await createTestWebhook(ctx)
  await setDrainHealth(ctx, id, createFailingPeriod(130, 14))
  await database.pool.query('alter table login_failures rename to login_failures_renamed')
  await expect(maintain()).rejects.toThrow()
  await database.pool.query('alter table login_failures_renamed rename to login_failures')
  expect(await readWebhook(ctx, id)).toMatchObject({ enabled: false })
})
