import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { deleteList } from '@rapport/core/lists/delete-list.ts'
import { addSubscribers, createTestList, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { countRows } from '@rapport/testing/fixtures/imports.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { startWorkerProcess } from '../../test/worker-processes.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const redis = useForFile(createTestRedis)

const start = () => startWorkerProcess({ env: { DATABASE_URL: database.url, REDIS_URL: redis.url } })
const count = (table: 'lists' | 'subscriptions') => countRows(ctx, table)
const countSubscribed = async () =>
  (
    await database.pool.query(`select from contacts where workspace_id = $1 and email_subscribed_status <> 'NONE'`, [
      uuidOf(ctx.workspaceId),
    ])
  ).rowCount

test('a killed worker leaves completed steps, and the next worker finishes the list', async () => {
  const first = await start()
  const subscribers = countRuns({ gate: 6_000, full: 20_000 })
  const list = await createTestList(ctx)
  await addSubscribers(ctx, list.id, { count: subscribers })
  await deleteList(ctx, list.id)
  await waitUntil(async () => (await count('subscriptions')) < subscribers, { describe: 'the first step is done' })
  first.kill('SIGKILL')
  await first.exited
  expect([await count('lists'), await countSubscribed()]).toEqual([1, await count('subscriptions')])
  expect(await count('subscriptions')).toBeGreaterThan(0)
  await redis.flush()
  const second = await start()
  await waitUntil(async () => (await count('lists')) === 0, { describe: 'the list is deleted' })
  expect([await count('subscriptions'), await countSubscribed(), await listPendingWork(ctx)]).toEqual([0, 0, []])
  second.kill('SIGTERM')
  expect(await second.exited).toEqual({ code: 0, signal: null })
})
