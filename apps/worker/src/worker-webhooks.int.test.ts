/** Webhook backlogs in a complete worker: fair sharing, pauses, and one drain per webhook. */
import { countDeliveries, createTestCtx, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { addBacklog } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { readHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, describe, expect, test, onTestFinished } from 'vitest'
import { shortTimings, silentLog, testWorkerConfig } from '../test/fixtures.ts'
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

const timings = { ...shortTimings, drainTurnMs: 100, firstPauseMs: 50 }

async function start(env: Record<string, string>) {
  workers.push(await startWorker(testWorkerConfig({ DATABASE_URL: database.url, ...env }), silentLog, { timings }))
}

const timeoutMs = 40_000

describe.each([
  ['Redis', () => ({ REDIS_URL: redis.url })],
  ['PostgreSQL', () => ({})],
])('with the queues in %s', (_name, environment) => {
  test('workspaces with long backlogs take turns with a concurrency of one', async () => {
    receiver.respondWith(() => ({ delayMs: 20 }))
    const other = await createTestCtx(database.db)
    for (const owner of [ctx, ctx, other]) {
      const { id } = await createTestWebhook(owner, { url: `${receiver.url}/${owner.workspaceId}` })
      await addBacklog(owner, id, 400)
    }
    await start({ ...environment(), WORKER_CONCURRENCY: '1' })
    /** The workspaces in the order of their drains. */
    const listDrains = () => {
      const urls = receiver.requests.map(({ url }) => url)
      return urls.filter((url, index) => url !== urls[index - 1])
    }
    await waitUntil(() => listDrains().length >= 3, {
      describe: () => `the first workspace is drained again: ${listDrains().join()}`,
      timeoutMs,
    })
    expect(new Set(listDrains()).size).toBe(2)
  })

  test('a delivery that is created while another receiver hangs does not wait for it', async () => {
    const hanging = await startHttpReceiver(() => new Promise(() => {}))
    onTestFinished(() => hanging.close())
    await createTestWebhook(ctx, { url: hanging.url, eventTypes: ['deal.created'] }).then(({ id }) =>
      addBacklog(ctx, id, 1),
    )
    await start(environment())
    await hanging.waitFor(1)
    const { id } = await createTestWebhook(ctx, { url: receiver.url })
    for (let count = 1; count <= 5; count++) {
      await addBacklog(ctx, id, 1)
      await receiver.waitFor(count)
    }
    expect(hanging.requests).toHaveLength(1)
    // Otherwise the worker waits for its response while it closes.
    await hanging.close()
  })

  test('a backlog is drained after its receiver is back, without a new event', async () => {
    await receiver.close()
    const { id } = await createTestWebhook(ctx, { url: receiver.url })
    await addBacklog(ctx, id, 40)
    await start(environment())
    await waitUntil(async () => ((await readHealth(ctx, id))?.unreachableCount ?? 0) >= 4, {
      describe: 'the webhook was paused twice',
      timeoutMs,
    })
    const back = await startHttpReceiver(undefined, { port: receiver.port })
    await waitUntil(async () => !('PENDING' in (await countDeliveries(ctx))), {
      describe: 'the backlog is drained',
      timeoutMs,
    })
    const { SUCCEEDED = 0, FAILED = 0 } = await countDeliveries(ctx)
    expect(SUCCEEDED + FAILED).toBe(40)
    expect(FAILED).toBeLessThan(10)
    expect(back.requests).toHaveLength(SUCCEEDED)
    await back.close()
  })

  test('three workers drain twelve webhooks and send each delivery once', async () => {
    const webhooks = await Promise.all(
      Array.from({ length: 12 }, (_, n) => createTestWebhook(ctx, { url: `${receiver.url}/${n}` })),
    )
    for (const { id } of webhooks) await addBacklog(ctx, id, 10)
    for (let n = 0; n < 3; n++) await start(environment())
    await waitUntil(async () => !('PENDING' in (await countDeliveries(ctx))), {
      describe: 'all backlogs are drained',
      timeoutMs,
    })
    const received = receiver.requests.map(({ url, headers }) => `${url} ${String(headers['webhook-id'])}`)
    expect([received.length, new Set(received).size]).toEqual([120, 120])
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 120 })
  })
})
