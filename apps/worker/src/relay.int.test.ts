import { randomUUID } from 'node:crypto'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { type Ctx, inTransaction } from '@rapport/core/request/context.ts'
import { type Database, openDatabase } from '@rapport/core/db/client.ts'
import { idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import { enqueue, laneRoom, quickRoom, roomSaid } from '@rapport/core/jobs/outbox.ts'
import { outboxChannel, type WorkJob } from '@rapport/core/jobs/queues.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { createTestCtx, waitingWork } from '@rapport/testing/fixtures/factories.ts'
import { createTestRedis, type TestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { jobOptions } from './jobs.ts'
import { chooseBackend, type QueueBackend } from './queue-backend.ts'
import { startRelay } from './relay.ts'
import { silentLog, testWorkerConfig } from './testing.ts'

let testDatabase: TestDatabase
let redis: TestRedis
let database: Database
let ctx: Ctx
let received: string[]
let quick: string[]
let closers: (() => Promise<unknown>)[]
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  redis = await createTestRedis()
  database = openDatabase(testDatabase.url, { applicationName: 'rapport test', onError: () => {} })
})
beforeEach(async () => {
  ctx = await createTestCtx(testDatabase.db)
  received = []
  quick = []
  closers = []
  await redis.start()
})
afterEach(async () => {
  for (const close of closers.toReversed()) await close()
  await testDatabase.pool.query('delete from outbox')
})
afterAll(async () => {
  await database.close()
  await redis.close()
  await testDatabase.close()
})

/** Work of no further meaning. Answers its UUIDs. */
async function enqueueSome(count: number, on: Ctx = ctx): Promise<string[]> {
  const uuids = Array.from({ length: count }, () => randomUUID())
  for (const uuid of uuids) await enqueue(on, 'mail', idOf('mai', uuid))
  return uuids
}

const isReceived = (uuids: string[]) => () => uuids.every((uuid) => received.includes(uuid))
const waitUntilReceived = (uuids: string[], timeoutMs = 8_000) =>
  waitUntil(isReceived(uuids), { describe: `${uuids.length} jobs have come`, timeoutMs })
const waitUntilHandedOver = (uuids: string[]) =>
  waitUntil(
    async () => {
      const waiting = await testDatabase.pool.query('select from outbox where id = any($1) and relayed_epoch is null', [
        uuids,
      ])
      return waiting.rowCount === 0
    },
    { describe: 'the relay has handed all over' },
  )

async function start(
  config: WorkerConfig,
  newEpochs: number[] = [],
  { onLook = () => {}, pollMs = 1_000 }: { onLook?: () => void; pollMs?: number } = {},
) {
  const chosen = await chooseBackend(config, silentLog)
  const readEpoch = () => {
    onLook()
    return chosen.readEpoch()
  }
  const backend: QueueBackend = { ...chosen, readEpoch }
  const relay = startRelay({
    database,
    listenUrl: testDatabase.url,
    backend,
    jobOptions,
    log: silentLog,
    onHandOver: () => {},
    quickLanes: () => quick,
    pollMs,
    onNewEpoch: async () => void newEpochs.push(Date.now()),
  })
  closers.push(
    () => backend.close(),
    () => relay.close(),
  )
  return { backend, relay }
}

/** Takes the jobs, as a worker does. */
function work(backend: QueueBackend) {
  const worker = backend.openWorker('mail', async (job) => void received.push((job.data as WorkJob).id), {
    concurrency: 5,
  })
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
    // It is the job that ends the work, not the hand-over.
    expect((await waitingWork(ctx)).toSorted()).toEqual(uuids.toSorted())
  })

  test('a commit wakes the relay: work comes although the next poll is an hour away', async () => {
    const { backend } = await start(config(), [], { pollMs: 3_600_000 })
    work(backend)
    await waitUntilReceived(await enqueueSome(1))
    for (let piece = 0; piece < 10; piece++) await waitUntilReceived(await enqueueSome(1))
  })

  test('what wakes it for nothing, again and again, does not keep it looking; what tells of room does', async () => {
    let looks = 0
    const looked = () => looks
    await start(config(), [], { onLook: () => (looks += 1) })
    const notify = (said: string) => testDatabase.pool.query('select pg_notify($1, $2)', [outboxChannel, said])
    const lookFor = async (said: string) => {
      const startedAt = performance.now()
      for (const until = looked() + 10; looked() < until; ) await notify(said)
      return (performance.now() - startedAt) / 10
    }
    await waitUntil(() => looks > 0, { describe: 'it has begun' })
    await lookFor('')
    const [betweenLooks, betweenLooksForRoom] = [await lookFor(''), await lookFor(roomSaid)]
    expect(betweenLooks).toBeGreaterThan(30)
    expect(betweenLooksForRoom).toBeLessThan(betweenLooks)
  })

  test('a thousand pieces of work come once each by two relays', async () => {
    const { rows } = await testDatabase.pool.query<{ id: string }>(
      `insert into outbox (id, workspace_id, queue) select gen_random_uuid(), id, 'mail'
       from workspaces cross join generate_series(1, 1000) where id = (select max(id::text)::uuid from workspaces) returning id`,
    )
    await start(config())
    const { backend } = await start(config())
    work(backend)
    await waitUntilReceived(
      rows.map(({ id }) => id),
      15_000,
    )
    expect(received).toHaveLength(1_000)
  })

  test('a relay that closes leaves what it has not handed over to the next', async () => {
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
    const newEpochs: number[] = []
    const { backend } = await start(onRedis(), newEpochs)
    work(backend)
    const uuids = await enqueueSome(3)
    expect(await waitingWork(ctx)).toHaveLength(3)
    await redis.start()
    await waitUntilReceived(uuids)
    expect(received).toHaveLength(3)
    expect(newEpochs).toHaveLength(1)
  })

  test('goes away and comes back empty, what it had is handed over again', async () => {
    const newEpochs: number[] = []
    const { backend } = await start(onRedis(), newEpochs)
    const uuids = await enqueueSome(3)
    await waitUntilHandedOver(uuids)
    await redis.stop()
    const more = await enqueueSome(2)
    await redis.start()
    work(backend)
    await waitUntilReceived([...uuids, ...more])
    expect(newEpochs).toHaveLength(2)
  })

  test('is emptied, what it had is handed over again', async () => {
    const newEpochs: number[] = []
    const { backend } = await start(onRedis(), newEpochs)
    const uuids = await enqueueSome(3)
    await waitUntilHandedOver(uuids)
    await redis.flush()
    work(backend)
    await waitUntilReceived(uuids)
    expect(received.toSorted()).toEqual(uuids.toSorted())
    expect(newEpochs).toHaveLength(2)
  })

  test('is emptied again and again under work, nothing is lost', async () => {
    const { backend } = await start(onRedis())
    work(backend)
    const uuids: string[] = []
    for (let round = 0; round < 5; round++) {
      uuids.push(...(await enqueueSome(5)))
      await redis.flush()
    }
    await waitUntilReceived(uuids)
  })

  test('was emptied, what another relay hands over as in its former life is handed over again', async () => {
    work((await start(onRedis())).backend)
    const first = await enqueueSome(1)
    await waitUntilReceived(first)
    // As one does that learns of the new life later.
    const late = randomUUID()
    await testDatabase.pool.query(
      `insert into outbox (id, workspace_id, queue, relayed_epoch, relayed_at) values ($1, $2, 'mail', 'former', now())`,
      [late, uuidOf(ctx.workspaceId)],
    )
    await waitUntilReceived([late])
  })

  test('hangs for a moment, work comes when it answers again', async () => {
    const { backend } = await start(onRedis())
    work(backend)
    await waitUntilReceived(await enqueueSome(1))
    redis.pause()
    const uuids = await enqueueSome(2)
    expect(await waitingWork(ctx)).toHaveLength(3)
    redis.resume()
    await waitUntilReceived(uuids)
  })

  test('is away, a relay closes all the same', async () => {
    const { relay } = await start(onRedis())
    const uuids = await enqueueSome(1)
    await waitUntilHandedOver(uuids)
    await redis.stop()
    await expect(relay.close()).resolves.toBeUndefined()
  })
})

test('a lane that is known to be quick is handed over more of, and no other is', async () => {
  quick = [randomUUID()]
  const lanes = [...quick, randomUUID()]
  for (const lane of lanes) {
    const { workspaceId } = await createTestCtx(testDatabase.db)
    await testDatabase.pool.query(
      `insert into outbox (id, workspace_id, queue, lane) select uuidv7(), $1, 'webhooks', $2 from generate_series(1, 30)`,
      [uuidOf(workspaceId), lane],
    )
  }
  await start(onPostgres())
  const countsOf = async () => {
    const { rows } = await testDatabase.pool.query<{ lane: string; count: number }>(
      'select lane, count(*)::int from outbox where relayed_epoch is not null group by 1',
    )
    return lanes.map((lane) => rows.find((row) => row.lane === lane)?.count ?? 0)
  }
  await waitUntil(async () => (await countsOf()).every((count) => count > 0), { describe: 'the relay has looked' })
  expect(await countsOf()).toEqual([quickRoom, laneRoom])
})
