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

/** A list that was deleted with so many on it. Answers its UUID. */
async function deletedList(people: number): Promise<string> {
  const list = await createTestList(ctx)
  await addSubscribers(ctx, list.id, { count: people })
  await deleteList(ctx, list.id)
  return uuidOf(list.id)
}

test('a long list goes in one job, with every subscription, and nobody is left subscribed', async () => {
  const uuid = await deletedList(2_600)
  await clearDeletedListJob(deps, jobOf(ctx, uuid))
  expect([await count('lists'), await count('subscriptions'), await countSubscribed()]).toEqual([0, 0, 0])
  expect(await listPendingWork(ctx)).toEqual([])
  await clearDeletedListJob(deps, jobOf(ctx, uuid))
})

test('a worker that stops does one step and hands the rest on, and two at once finish it', async () => {
  const uuid = await deletedList(2_600)
  await clearDeletedListJob({ ...deps, stopping: AbortSignal.abort() }, jobOf(ctx, uuid))
  expect([await count('lists'), await count('subscriptions'), await countSubscribed()]).toEqual([1, 2_100, 2_100])
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuid])
  await Promise.all([1, 2].map(() => clearDeletedListJob(deps, jobOf(ctx, uuid))))
  expect([await count('lists'), await count('subscriptions'), await countSubscribed()]).toEqual([0, 0, 0])
  expect(await listPendingWork(ctx)).toEqual([])
})

test('a worker that is killed leaves whole steps, and the next one ends what it began', {
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
      readyPattern: /the worker is ready/,
    })
  const first = await start()
  const people = 20_000
  await deletedList(people)
  await waitUntil(async () => (await count('subscriptions')) < people, { describe: 'the first step is done' })
  first.kill('SIGKILL')
  await first.exited
  expect([await count('lists'), await countSubscribed()]).toEqual([1, await count('subscriptions')])
  expect(await count('subscriptions')).toBeGreaterThan(0)
  // What the relay does with work that has been on its way for long.
  await database.pool.query(`update outbox set relayed_at = now() - interval '1 hour'`)
  await redis.flush()
  const second = await start()
  await waitUntil(async () => (await count('lists')) === 0, { describe: 'the list is gone', timeoutMs: 30_000 })
  expect([await count('subscriptions'), await countSubscribed(), await listPendingWork(ctx)]).toEqual([0, 0, []])
  second.kill('SIGTERM')
  expect(await second.exited).toEqual({ code: 0, signal: null })
})
