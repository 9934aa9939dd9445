import { randomUUID } from 'node:crypto'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { type Ctx, inTransaction } from '@rapport/core/request/context.ts'
import { type Database, openDatabase } from '@rapport/core/db/client.ts'
import { idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import { enqueue, finishWork } from '@rapport/core/work/enqueue.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { createTestCtx, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { createTestRedis, type TestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { QueueBackend } from './queue-backend.ts'
import { shortTimings, startTestPoller, testWorkerConfig } from '../../test/fixtures.ts'
import { defaultTimings, type WorkerTimings } from '../process/worker-timings.ts'

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
})
afterEach(async () => {
  for (const close of closers.toReversed()) await close()
  await testDatabase.pool.query('truncate work, workers')
})
afterAll(async () => {
  await database.close()
  await redis.close()
  await testDatabase.close()
})

/** Enqueues work that refers to no record. Returns its UUIDs. */
async function enqueueMany(count: number, on: Ctx = ctx): Promise<string[]> {
  const uuids = Array.from({ length: count }, () => randomUUID())
  for (const uuid of uuids) await enqueue(on, 'MAIL', idOf('mai', uuid))
  return uuids
}

const isReceived = (uuids: string[]) => () => uuids.every((uuid) => received.includes(uuid))
const waitUntilReceived = (uuids: string[]) =>
  waitUntil(isReceived(uuids), { describe: `${uuids.length} jobs are received` })
const waitUntilPublished = (uuids: string[]) =>
  waitUntil(
    async () => {
      const waiting = await testDatabase.pool.query('select from work where id = any($1) and published_at is null', [
        uuids,
      ])
      return waiting.rowCount === 0
    },
    { describe: 'the poll has published all work' },
  )
const countUnpublished = async () => (await database.pool.query('select from work where published_at is null')).rowCount

/** Makes published work old enough to be published again. */
const backdatePublished = () =>
  testDatabase.pool.query(
    `update work set published_at = (published_at at time zone 'UTC' - interval '1 minute') at time zone 'UTC'`,
  )

/** Published work is published again only after it was backdated, unless `republishMs` is set. */
async function start(config: WorkerConfig, options: Partial<WorkerTimings> & { publishes?: boolean } = {}) {
  const { publishes = false, ...timings } = options
  const started = await startTestPoller(config, {
    database,
    publishes,
    timings: { ...shortTimings, addTimeoutMs: defaultTimings.addTimeoutMs, republishMs: 30_000, ...timings },
  })
  closers.push(started.close)
  return started
}

/** Starts a worker that records the ids of its jobs and calls `done`. */
function startWorker(backend: QueueBackend, done: (uuid: string) => Promise<void> = async () => {}) {
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
  test('the poll publishes committed work, and never rolled back work', async () => {
    const { backend } = await start(config())
    startWorker(backend)
    const rolledBack = inTransaction(ctx, async (ctx) => {
      await enqueueMany(1, ctx)
      throw new Error('rollback')
    })
    await expect(rolledBack).rejects.toThrow('rollback')
    const uuids = await enqueueMany(3)
    await waitUntilReceived(uuids)
    expect(received.toSorted()).toEqual(uuids.toSorted())
    // The job removes the row of work; publishing keeps it.
    expect((await listPendingWork(ctx)).toSorted()).toEqual(uuids.toSorted())
  })

  test('a commit publishes its work, once, before the next poll', async () => {
    const never = { pollMs: 3_600_000, otherWorkersPollMs: 3_600_000, republishMs: 3_600_000 }
    const { backend } = await start(config(), { ...never, publishes: true })
    startWorker(backend)
    const on = { ...ctx, db: database.db }
    const uuids: string[] = []
    for (let piece = 0; piece < 10; piece++) {
      uuids.push(...(await enqueueMany(1, on)))
      await waitUntilReceived(uuids)
    }
    uuids.push(...(await inTransaction(on, (on) => enqueueMany(20, on))))
    await waitUntilReceived(uuids)
    expect(received.toSorted()).toEqual(uuids.toSorted())
  })

  test('two workers poll and publish all pieces of work', async () => {
    const { rows } = await testDatabase.pool.query<{ id: string }>(
      `insert into work (id, workspace_id, kind)
       select gen_random_uuid(), $1, 'MAIL' from generate_series(1, 250) returning id`,
      [uuidOf(ctx.workspaceId)],
    )
    await start(config())
    const { backend } = await start(config())
    startWorker(backend, (uuid) => finishWork(ctx, [uuid]))
    await waitUntilReceived(rows.map(({ id }) => id))
    await waitUntil(async () => (await listPendingWork(ctx)).length === 0, { describe: 'all work is done' })
  })

  test('the poll publishes unfinished work again after a delay, and not earlier', async () => {
    const { backend } = await start(config())
    startWorker(backend)
    const uuids = await enqueueMany(2)
    await waitUntilReceived(uuids)
    const later = await enqueueMany(1)
    await waitUntilReceived(later)
    expect(received.toSorted()).toEqual([...uuids, ...later].toSorted())
    // The poll adds a job before it marks the row as published.
    await waitUntil(async () => (await countUnpublished()) === 0, { describe: 'all rows are marked as published' })
    await backdatePublished()
    await waitUntil(() => received.length === 6, { describe: 'every job is received again' })
  })

  test('the poll publishes work that a closed worker left unpublished', async () => {
    const { poller } = await start(config())
    await poller.close()
    const uuids = await enqueueMany(2)
    const { backend } = await start(config())
    startWorker(backend)
    await waitUntilReceived(uuids)
  })
})

describe('when Redis is flushed', () => {
  test('the lost jobs are published again', async () => {
    const { backend } = await start(onRedis())
    const uuids = await enqueueMany(3)
    await waitUntilPublished(uuids)
    await redis.flush()
    startWorker(backend)
    await backdatePublished()
    await waitUntilReceived(uuids)
  })

  test('repeatedly while work is added, no work is lost', async () => {
    const { backend } = await start(onRedis(), { republishMs: 100 })
    startWorker(backend)
    const uuids: string[] = []
    for (let round = 0; round < 5; round++) {
      uuids.push(...(await enqueueMany(5)))
      await redis.flush()
    }
    await waitUntilReceived(uuids)
  })
})
