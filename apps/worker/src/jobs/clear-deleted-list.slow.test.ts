import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { deleteList } from '@rapport/core/lists/delete-list.ts'
import { addSubscribers, createTestList, testSettings, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDeps, jobOf } from '../testing.ts'
import { clearDeletedListJob } from './clear-deleted-list.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForFile(() => createTestDeps(database.db))

async function count(table: 'lists' | 'subscriptions'): Promise<number> {
  const result = await database.pool.query(`select from ${table} where workspace_id = $1`, [uuidOf(ctx.workspaceId)])
  return result.rowCount ?? 0
}
const countSubscribed = async () =>
  (
    await database.pool.query(`select from contacts where workspace_id = $1 and email_subscribed_status <> 'NONE'`, [
      uuidOf(ctx.workspaceId),
    ])
  ).rowCount

/** Creates and deletes a list with subscribers. Returns its UUID. */
async function createDeletedList(subscribers: number): Promise<string> {
  const list = await createTestList(ctx)
  await addSubscribers(ctx, list.id, { count: subscribers })
  await deleteList(ctx, list.id)
  return uuidOf(list.id)
}

test('one job deletes a long list with all its subscriptions', async () => {
  const uuid = await createDeletedList(2_600)
  await clearDeletedListJob(deps, jobOf(ctx, uuid))
  expect([await count('lists'), await count('subscriptions'), await countSubscribed()]).toEqual([0, 0, 0])
  expect(await listPendingWork(ctx)).toEqual([])
  await clearDeletedListJob(deps, jobOf(ctx, uuid))
})

test('a worker that shuts down requeues the rest, and two concurrent jobs finish it', async () => {
  const uuid = await createDeletedList(2_600)
  await clearDeletedListJob({ ...deps, stopping: AbortSignal.abort() }, jobOf(ctx, uuid))
  expect([await count('lists'), await count('subscriptions'), await countSubscribed()]).toEqual([1, 2_100, 2_100])
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuid])
  await Promise.all([1, 2].map(() => clearDeletedListJob(deps, jobOf(ctx, uuid))))
  expect([await count('lists'), await count('subscriptions'), await countSubscribed()]).toEqual([0, 0, 0])
  expect(await listPendingWork(ctx)).toEqual([])
})

test('a killed worker leaves completed steps, and the next worker finishes the list', {
  timeout: 60_000,
}, async () => {
  const redis = await createTestRedis()
  onTestFinished(() => redis.close())
  const start = () =>
    startProcess({
      script: 'apps/worker/src/main.ts',
      env: {
        DATABASE_URL: database.url,
        REDIS_URL: redis.url,
        SMTP_URL: 'smtp://127.0.0.1:1',
        PUBLIC_URL: testSettings.publicUrl,
        MAIL_FROM: testSettings.mailFrom,
        SECRET_KEY: 'a secret that is known to every test',
      },
      readyPattern: /worker ready/,
    })
  const first = await start()
  const subscribers = 20_000
  await createDeletedList(subscribers)
  await waitUntil(async () => (await count('subscriptions')) < subscribers, { describe: 'the first step is done' })
  first.kill('SIGKILL')
  await first.exited
  expect([await count('lists'), await countSubscribed()]).toEqual([1, await count('subscriptions')])
  expect(await count('subscriptions')).toBeGreaterThan(0)
  // Makes the published work old enough for the relay to publish it again.
  await database.pool.query(`update outbox set relayed_at = now() - interval '1 hour'`)
  await redis.flush()
  const second = await start()
  await waitUntil(async () => (await count('lists')) === 0, { describe: 'the list is deleted', timeoutMs: 30_000 })
  expect([await count('subscriptions'), await countSubscribed(), await listPendingWork(ctx)]).toEqual([0, 0, []])
  second.kill('SIGTERM')
  expect(await second.exited).toEqual({ code: 0, signal: null })
})
