import { randomUUID } from 'node:crypto'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { type Ctx, inTransaction } from '@rapport/core/request/context.ts'
import { type Database, openDatabase } from '@rapport/core/db/client.ts'
import { idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import { enqueue, finishWork } from '@rapport/core/jobs/outbox.ts'
import type { WorkJob } from '@rapport/core/jobs/queues.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { createTestCtx, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { createTestRedis, type TestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { QueueBackend } from './queue-backend.ts'
import { startTestRelay, testWorkerConfig } from './testing.ts'

let testDatabase: TestDatabase
let redis: TestRedis
let database: Database
let ctx: Ctx
let received: string[]
let closers: (() => Promise<unknown>)[]
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  redis = await createTestRedis()
  database = openDatabase(testDatabase.url, { applicationName: 'rapport test', onError: () => {} })
})
beforeEach(async () => {
  ctx = await createTestCtx(testDatabase.db)
  received = []
  closers = []
  await redis.start()
})
afterEach(async () => {
  for (const close of closers.toReversed()) await close()
  await testDatabase.pool.query('truncate outbox, workers')
})
afterAll(async () => {
  await database.close()
  await redis.close()
  await testDatabase.close()
})

/** Work of no further meaning. Returns its UUIDs. */
async function enqueueSome(count: number, on: Ctx = ctx): Promise<string[]> {
  const uuids = Array.from({ length: count }, () => randomUUID())
  for (const uuid of uuids) await enqueue(on, 'mail', idOf('mai', uuid))
  return uuids
}

const isReceived = (uuids: string[]) => () => uuids.every((uuid) => received.includes(uuid))
const waitUntilReceived = (uuids: string[], timeoutMs = 8_000) =>
  waitUntil(isReceived(uuids), { describe: `${uuids.length} jobs have come`, timeoutMs })
const waitUntilPublished = (uuids: string[]) =>
  waitUntil(
    async () => {
      const waiting = await testDatabase.pool.query('select from outbox where id = any($1) and published_at is null', [
        uuids,
      ])
      return waiting.rowCount === 0
    },
    { describe: 'the relay has published all' },
  )
const countUnpublished = async () =>
  (await database.pool.query('select from outbox where published_at is null')).rowCount

/** As if the time had passed after which a job that is not done may be lost. */
const agePublished = () =>
  testDatabase.pool.query(`update outbox set published_at = published_at - interval '1 minute'`)

async function start(config: WorkerConfig, { pollMs = 1_000 } = {}) {
  const started = await startTestRelay(config, { database, pollMs })
  closers.push(started.close)
  return started
}

/** Runs the jobs, as a worker does. */
function work(backend: QueueBackend, done: (uuid: string) => Promise<void> = async () => {}) {
  const worker = backend.openWorker(
    'mail',
    async (job) => {
      const { id } = job.data as WorkJob
      received.push(id)
      await done(id)
    },
    { concurrency: 5 },
  )
  closers.push(() => worker.close())
}

const onRedis = () => testWorkerConfig({ DATABASE_URL: testDatabase.url, REDIS_URL: redis.url })
const onPostgres = () => testWorkerConfig({ DATABASE_URL: testDatabase.url })

describe.each([
  ['Redis', onRedis],
  ['PostgreSQL', onPostgres],
])('with the queues in %s', (_name, config) => {
  test('work comes once it is committed, and what is rolled back never does', async () => {
    const { backend } = await start(config())
    work(backend)
    const rolledBack = inTransaction(ctx, async (ctx) => {
      await enqueueSome(1, ctx)
      throw new Error('changed my mind')
    })
    await expect(rolledBack).rejects.toThrow('changed my mind')
    const uuids = await enqueueSome(3)
    await waitUntilReceived(uuids)
    expect(received.toSorted()).toEqual(uuids.toSorted())
    // The job ends the work, not its publication.
    expect((await listPendingWork(ctx)).toSorted()).toEqual(uuids.toSorted())
  })

  test('a commit wakes the relay: work comes although the next poll is an hour away', async () => {
    const { backend } = await start(config(), { pollMs: 3_600_000 })
    work(backend)
    await waitUntilReceived(await enqueueSome(1))
    for (let piece = 0; piece < 10; piece++) await waitUntilReceived(await enqueueSome(1))
  })

  test('a thousand pieces of work come by two relays, and are done', async () => {
    const { rows } = await testDatabase.pool.query<{ id: string }>(
      `insert into outbox (id, workspace_id, queue)
       select gen_random_uuid(), $1, 'mail' from generate_series(1, 1000) returning id`,
      [uuidOf(ctx.workspaceId)],
    )
    await start(config(), { pollMs: 50 })
    const { backend } = await start(config(), { pollMs: 50 })
    work(backend, (uuid) => finishWork(testDatabase.db, [uuid]))
    await waitUntilReceived(
      rows.map(({ id }) => id),
      30_000,
    )
    await waitUntil(async () => (await listPendingWork(ctx)).length === 0, { describe: 'all is done' })
  })

  test('work that was published and is not done is published again after a while, and not before', async () => {
    const { backend } = await start(config(), { pollMs: 50 })
    work(backend)
    const uuids = await enqueueSome(2)
    await waitUntilReceived(uuids)
    const later = await enqueueSome(1)
    await waitUntilReceived(later)
    expect(received.toSorted()).toEqual([...uuids, ...later].toSorted())
    // A job is added before its row says so.
    await waitUntil(async () => (await countUnpublished()) === 0, { describe: 'all rows say that they are published' })
    await agePublished()
    await waitUntil(() => received.length === 6, { describe: 'each came again' })
  })

  test('a relay that closes leaves what it has not published to the next', async () => {
    const { relay } = await start(config())
    await relay.close()
    const uuids = await enqueueSome(2)
    const { backend } = await start(config())
    work(backend)
    await waitUntilReceived(uuids)
  })
})

describe('when Redis', () => {
  test('is away, work waits, and comes when it is back', async () => {
    await redis.stop()
    const { backend } = await start(onRedis())
    work(backend)
    const uuids = await enqueueSome(3)
    expect(await listPendingWork(ctx)).toHaveLength(3)
    await redis.start()
    await waitUntilReceived(uuids)
    expect(received).toHaveLength(3)
  })

  test.each([
    ['goes away and comes back empty', () => redis.stop().then(() => redis.start())],
    ['is emptied', () => redis.flush()],
  ])('%s, what it had is published again', async (_what, loseJobs) => {
    const { backend } = await start(onRedis())
    const uuids = await enqueueSome(3)
    await waitUntilPublished(uuids)
    await loseJobs()
    work(backend)
    await agePublished()
    await waitUntilReceived(uuids)
  })

  test('is emptied again and again under work, nothing is lost', async () => {
    const { backend } = await start(onRedis())
    work(backend)
    const uuids: string[] = []
    for (let round = 0; round < 5; round++) {
      uuids.push(...(await enqueueSome(5)))
      await redis.flush()
    }
    await waitUntilReceived(uuids, 20_000)
  })

  test('hangs for a moment, work comes when it answers again', async () => {
    const { backend } = await start(onRedis())
    work(backend)
    await waitUntilReceived(await enqueueSome(1))
    redis.pause()
    const uuids = await enqueueSome(2)
    expect(await listPendingWork(ctx)).toHaveLength(3)
    redis.resume()
    await waitUntilReceived(uuids)
  })

  test('is away, a relay closes all the same', async () => {
    const { relay } = await start(onRedis())
    const uuids = await enqueueSome(1)
    await waitUntilPublished(uuids)
    await redis.stop()
    await expect(relay.close()).resolves.toBeUndefined()
  })
})
