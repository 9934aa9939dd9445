/** The worker and its parts while Redis is stopped or hangs. */
import { randomUUID } from 'node:crypto'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import { enqueue } from '@rapport/core/work/enqueue.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { idOf, newId } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { version } from '@rapport/core/runtime/version.ts'
import {
  createTestContact,
  createTestWebhook,
  listPendingWork,
  readSingleDelivery,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { createUnreliableRedis } from '@rapport/testing/redis/unreliable-redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openJobQueues } from '@rapport/core/work/job-queues.ts'
import { openQueueBackend } from './queue-backend.ts'
import { shortTimings as timings, silentLog, startTestPoller, testWorkerConfig } from '../../test/fixtures.ts'
import { startWorker } from '../worker.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const redis = useForFile(createUnreliableRedis)
const onRedis = (env: Record<string, string> = {}) =>
  testWorkerConfig({ DATABASE_URL: database.url, REDIS_URL: redis.url, ...env })
beforeEach(() => redis.start())
afterEach(() => database.pool.query('truncate work, workers'))

describe('the poll publishes work', () => {
  let received: string[]
  beforeEach(() => void (received = []))

  async function start(options: { publishes?: boolean; republishMs?: number } = {}) {
    const { publishes = false, republishMs = 30_000 } = options
    const pool = openDatabase(database.url, { applicationName: 'rapport test', onError: () => {} })
    onTestFinished(() => pool.close())
    const started = await startTestPoller(onRedis(), {
      database: pool,
      timings: { ...timings, republishMs },
      publishes,
    })
    onTestFinished(() => started.close())
    /** Starts a worker that records the ids of its jobs. */
    function startWorker() {
      const worker = started.backend.openWorker(
        'mail',
        async ({ data }) => void received.push((data as WorkJob).id),
        {},
      )
      onTestFinished(() => worker.close())
    }
    return { ...started, startWorker, publishing: { ...ctx, db: pool.db } }
  }

  /** Enqueues work that refers to no record. Returns its UUIDs. */
  async function enqueueMany(count: number, on: Ctx = ctx): Promise<string[]> {
    const uuids = Array.from({ length: count }, () => randomUUID())
    for (const uuid of uuids) await enqueue(on, 'MAIL', idOf('mai', uuid))
    return uuids
  }

  const waitUntilReceived = (uuids: string[]) =>
    waitUntil(() => uuids.every((uuid) => received.includes(uuid)), { describe: 'the jobs are received' })
  const waitUntilPublished = () =>
    waitUntil(async () => (await database.pool.query('select from work where published_at is null')).rowCount === 0, {
      describe: 'the poll has published all work',
    })

  test('that was added while Redis was stopped', async () => {
    await redis.stop()
    const { startWorker } = await start()
    startWorker()
    const uuids = await enqueueMany(3)
    expect(await listPendingWork(ctx)).toHaveLength(3)
    await redis.start()
    await waitUntilReceived(uuids)
    expect(received).toHaveLength(3)
  })

  test('that was added while Redis hung', async () => {
    const { startWorker } = await start()
    startWorker()
    await waitUntilReceived(await enqueueMany(1))
    redis.pause()
    const uuids = await enqueueMany(2)
    expect(await listPendingWork(ctx)).toHaveLength(3)
    redis.resume()
    await waitUntilReceived(uuids)
  })

  test.each(['stopped', 'hung'])('whose publisher found Redis %s', async (fault) => {
    const { startWorker, publishing } = await start({ publishes: true, republishMs: 500 })
    startWorker()
    await waitUntilReceived(await enqueueMany(1, publishing))
    if (fault === 'stopped') await redis.stop()
    else redis.pause()
    const uuids = await enqueueMany(3, publishing)
    if (fault === 'stopped') await redis.start()
    else redis.resume()
    await waitUntilReceived(uuids)
    await waitUntilReceived(await enqueueMany(1, publishing))
  })

  test('again if Redis restarts without its data', async () => {
    const { startWorker } = await start()
    const uuids = await enqueueMany(3)
    await waitUntilPublished()
    await redis.stop()
    await redis.start()
    startWorker()
    // Makes the published work old enough to be published again.
    await database.pool.query(
      `update work set published_at = (published_at at time zone 'UTC' - interval '1 minute') at time zone 'UTC'`,
    )
    await waitUntilReceived(uuids)
  })

  test('and closes also while Redis is stopped', async () => {
    const { poller } = await start()
    await enqueueMany(1)
    await waitUntilPublished()
    await redis.stop()
    await expect(poller.close()).resolves.toBeUndefined()
  })
})

test('adding a job fails while Redis is stopped and succeeds afterwards', async () => {
  const backend = await openQueueBackend(onRedis(), { log: silentLog, timings })
  const added: number[] = []
  const queues = openJobQueues(backend, { timings, onAdd: (_queue, count) => void added.push(count) })
  onTestFinished(async () => {
    await queues.close()
    await backend.close()
  })
  const add = () => queues.add('webhooks', [{ workspaceId: newId('wsp'), kind: 'MAIL', id: randomUUID() }])
  await backend.firstConnection
  await redis.stop()
  await expect(add()).rejects.toThrow()
  expect(added).toEqual([])
  await redis.start()
  await waitUntil(() => add().then(() => true), { describe: 'the job is added' })
})

test('a worker that starts while Redis is stopped works once Redis is available', async () => {
  const receiver = await startHttpReceiver()
  onTestFinished(() => receiver.close())
  await redis.stop()
  const worker = await startWorker(onRedis(), silentLog, { timings })
  onTestFinished(() => worker.close())
  await createTestWebhook(ctx, { url: receiver.url })
  await createTestContact(ctx)
  expect((await database.pool.query('select from workers')).rowCount).toBe(1)
  await redis.start()
  await waitUntil(async () => (await readSingleDelivery(ctx)).status === 'SUCCEEDED', {
    describe: 'the delivery succeeds',
  })
})

test('a worker is degraded and stays ready while Redis hangs', async () => {
  const port = await findFreePort()
  const worker = await startWorker(onRedis({ WORKER_PORT: String(port) }), silentLog, { timings })
  onTestFinished(() => worker.close())
  const get = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/ready`, { headers: { connection: 'close' } })
    return [response.status, await response.json()]
  }
  await waitUntil(get, { describe: 'the worker responds' })
  redis.pause()
  expect(await get()).toEqual([
    200,
    {
      status: 'degraded',
      parts: { database: 'up', redis: 'down', server: 'up' },
      problem: null,
      clock: { status: 'ok', offsetMs: expect.any(Number) as unknown },
      version,
    },
  ])
  redis.resume()
  expect(await get()).toMatchObject([200, {}])
})
