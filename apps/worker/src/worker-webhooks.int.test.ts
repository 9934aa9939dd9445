/** Backlogs of webhooks in a whole worker: turns, pauses and a drain per webhook. */
import { countDeliveries, createTestCtx, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { addBacklog, readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { silentLog, testWorkerConfig } from './testing.ts'
import { startWorker } from './worker.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const redis = useForFile(createTestRedis)
const receiver = useForTest(() => startHttpReceiver())
const workers: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
  await database.pool.query('truncate deliveries, workers')
})

async function start(more: Record<string, string>) {
  workers.push(await startWorker(testWorkerConfig({ DATABASE_URL: database.url, ...more }), silentLog))
}

const timeoutMs = 40_000

describe.each([
  ['Redis', () => ({ REDIS_URL: redis.url })],
  ['PostgreSQL', () => ({})],
])('with the queues in %s', (_name, environment) => {
  test('webhooks with long backlogs take turns on one place, of one workspace and of several', async () => {
    receiver.respondWith(() => ({ delayMs: 20 }))
    const other = await createTestCtx(database.db)
    for (const [owner, path] of [
      [ctx, 'a'],
      [ctx, 'b'],
      [other, 'c'],
    ] as const) {
      const { id } = await createTestWebhook(owner, { url: `${receiver.url}/${path}` })
      await addBacklog(owner, id, 10_000)
    }
    await start({ ...environment(), WORKER_CONCURRENCY: '1' })
    /** The webhooks in the order of their turns. */
    const turns = () => {
      const urls = receiver.requests.map(({ url }) => url)
      return urls.filter((url, at) => url !== urls[at - 1])
    }
    await waitUntil(() => new Set(turns()).size === 3, {
      describe: () => `each has had a turn: ${turns().join()}`,
      timeoutMs,
    })
    const [first] = turns()
    await waitUntil(() => turns().lastIndexOf(first ?? '') > 0, { describe: 'the first has its turn again', timeoutMs })
  })

  test('a backlog whose receiver was away is done when it is back, with no event in between', async () => {
    await receiver.close()
    const { id } = await createTestWebhook(ctx, { url: receiver.url })
    await addBacklog(ctx, id, 40)
    await start(environment())
    await waitUntil(async () => (await readDrain(ctx, id)).unreachable_count >= 4, {
      describe: 'it was paused twice',
      timeoutMs,
    })
    const back = await startHttpReceiver(undefined, { port: receiver.port })
    await waitUntil(async () => !('PENDING' in (await countDeliveries(ctx))), {
      describe: 'the backlog is done',
      timeoutMs,
    })
    const { SUCCEEDED = 0, FAILED = 0 } = await countDeliveries(ctx)
    expect(SUCCEEDED + FAILED).toBe(40)
    expect(FAILED).toBeLessThan(10)
    expect(back.requests).toHaveLength(SUCCEEDED)
    await back.close()
  })

  test('three workers share many webhooks, and each delivery is sent once', async () => {
    const webhooks = await Promise.all(
      Array.from({ length: 12 }, (_, n) => createTestWebhook(ctx, { url: `${receiver.url}/${n}` })),
    )
    for (const { id } of webhooks) await addBacklog(ctx, id, 60)
    for (let n = 0; n < 3; n++) await start(environment())
    await waitUntil(async () => !('PENDING' in (await countDeliveries(ctx))), { describe: 'all is done', timeoutMs })
    const received = receiver.requests.map(({ url, headers }) => `${url} ${String(headers['webhook-id'])}`)
    expect([received.length, new Set(received).size]).toEqual([720, 720])
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 720 })
  })
})
