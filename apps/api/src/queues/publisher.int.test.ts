import { readApiConfig } from '@rapport/core/runtime/config.ts'
import { newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { inTransaction, type Ctx } from '@rapport/core/request/context.ts'
import { enqueue } from '@rapport/core/work/enqueue.ts'
import { queueOfJob } from '@rapport/core/work/kinds.ts'
import { findPublishableWork } from '@rapport/core/work/publish.ts'
import { drainId, drainJobOf, queuePrefix, queueSchema, type QueueName } from '@rapport/core/work/queues.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { createPostgresBackend, type Job, Queue, runMigrations, withBackend } from 'bullmq'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startTestApi, testEnvironment, type TestApi } from '../../test/testing.ts'
import { openPublisher, publisherTimings } from './publisher.ts'

const redis = useForFile(createTestRedis)

interface Backend {
  name: string
  environment: () => Record<string, string>
  prepare: (database: TestDatabase) => Promise<void>
  open: (queue: QueueName, database: TestDatabase) => Queue
}

const postgres = withBackend(createPostgresBackend)
const backends: Backend[] = [
  {
    name: 'Redis',
    environment: () => ({ REDIS_URL: redis.url }),
    prepare: () => redis.flush(),
    open: (name) => new Queue(name, { connection: { url: redis.url }, prefix: queuePrefix(name) }),
  },
  {
    name: 'PostgreSQL',
    environment: () => ({}),
    prepare: migrateQueues,
    open: (name, { url }) =>
      new postgres.Queue(name, { connection: { connectionString: url, schema: queueSchema } }) as unknown as Queue,
  },
]

async function migrateQueues({ pool }: TestDatabase) {
  const client = await pool.connect()
  await runMigrations(client, queueSchema)
  client.release()
}

/** Starts an API with its publisher. */
async function start({ environment, prepare }: { environment: Record<string, string>; prepare?: Backend['prepare'] }) {
  const database = await createTestDatabase()
  await prepare?.(database)
  const api = await startTestApi({ database, environment })
  const logged: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  const config = readApiConfig({ ...testEnvironment(database.url), ...environment })
  // A busy machine may take longer than the API waits for an add, which it then leaves to the poll.
  const timings = { ...publisherTimings, ...(prepare && { addTimeoutMs: 20_000, redisCommandTimeoutMs: 20_000 }) }
  const publisher = openPublisher(config, { db: database.db, log, timings })
  onTestFinished(async () => {
    await publisher.close()
    await api.close()
  })
  const workspace = await api.signUp()
  const ctx = api.ctx(workspace.id)
  return { api, database, publisher, logged, ctx, key: workspace.key }
}

/** Creates a webhook and a contact. */
async function createDelivery({ api, key }: { api: TestApi; key: string }): Promise<void> {
  const webhook = { url: 'https://example.com/hook', eventTypes: ['contact.created'] }
  await api.create('/webhooks', key, webhook)
  await api.create('/contacts', key, { email: 'ada@example.com' })
}

/** Until the publisher is connected, an add fails, and is left to the poll. */
async function waitUntilConnected({ api, publisher, logged }: Awaited<ReturnType<typeof start>>): Promise<void> {
  const other = api.ctx((await api.signUp()).id)
  const hasAdded = async () => (await publisher.published.get()).values.some(({ value }) => value > 0)
  await waitUntil(
    async () => {
      await enqueue(other, 'CLEAR_LIST', newId('lst'))
      return hasAdded()
    },
    { describe: 'the publisher is connected' },
  )
  logged.length = 0
}

/** Enqueues work without a subject. Returns its UUID. */
async function enqueueOne(ctx: Ctx): Promise<string> {
  const id = newId('imp')
  await enqueue(ctx, 'IMPORT', id)
  return uuidOf(id)
}

describe.each(backends)('with the queues in $name', ({ environment, prepare, open }) => {
  async function startPrepared() {
    const started = await start({ environment: environment(), prepare })
    await waitUntilConnected(started)
    const findJobs = async (name: QueueName): Promise<Job[]> => {
      const queue = open(name, started.database)
      const jobs = await queue.getJobs(['waiting', 'delayed', 'active'])
      await queue.close()
      return jobs
    }
    /** Waits for the jobs of a queue. */
    const waitForJobs = (name: QueueName, count: number) =>
      waitUntil(
        async () => {
          const jobs = await findJobs(name)
          return jobs.length === count && jobs
        },
        { describe: `${count} jobs are in the queue ${name}` },
      )
    return { ...started, findJobs, waitForJobs }
  }

  test('a commit adds one job for its workspace, with the options of the worker', async () => {
    const started = await startPrepared()
    await createDelivery(started)
    const { workspaceId } = started.ctx
    const [job] = await started.waitForJobs('webhooks', 1)
    expect(job).toMatchObject({
      name: 'drain webhooks',
      data: drainJobOf(workspaceId),
      opts: { attempts: 1, deduplication: { id: `${workspaceId}/${drainId}`, keepLastIfActive: true } },
    })
    // Until the job runs, further deliveries add none.
    for (let n = 0; n < 5; n++) await started.api.create('/contacts', started.key, { email: `n${n}@example.com` })
    await enqueueOne(started.ctx)
    await started.waitForJobs('imports', 1)
    expect(await started.findJobs('webhooks')).toHaveLength(1)
    expect(started.logged).toEqual([])
  })

  test('a commit adds its work with its retries, and a rollback adds nothing', async () => {
    const { ctx, waitForJobs } = await startPrepared()
    const rolledBack = inTransaction(ctx, async (ctx) => {
      await enqueueOne(ctx)
      throw new Error('roll back')
    })
    await expect(rolledBack).rejects.toThrow('roll back')
    const uuid = await inTransaction(ctx, async (ctx) => {
      const failed = inTransaction(ctx, async (ctx) => {
        await enqueueOne(ctx)
        throw new Error('roll back')
      })
      await expect(failed).rejects.toThrow('roll back')
      return enqueueOne(ctx)
    })
    const [job] = await waitForJobs('imports', 1)
    expect(job).toMatchObject({
      name: 'run import',
      data: { workspaceId: ctx.workspaceId, kind: 'IMPORT', id: uuid, requestId: ctx.requestId },
      opts: { attempts: 10, backoff: { type: 'exponential', delay: 1_000 } },
    })
  })

  test('of one workspace, no more jobs are added than its share', async () => {
    const { ctx, publisher, waitForJobs } = await startPrepared()
    for (let count = 0; count < 10; count++) await enqueueOne(ctx)
    await waitForJobs('imports', 4)
    await publisher.close()
    await waitForJobs('imports', 4)
    const { values } = await publisher.published.get()
    expect(values).toContainEqual({ labels: { queue: 'imports' }, value: 4 })
  })
})

describe('while the queues are away, requests succeed, and the poll finds the work', () => {
  test.each<[string, Record<string, string>]>([
    ['no process listens at REDIS_URL', { REDIS_URL: 'redis://127.0.0.1:1' }],
    ['the queues have no tables yet', {}],
    ['the server of the queues is away', { DATABASE_DIRECT_URL: 'postgres://127.0.0.1:1/none' }],
  ])('%s', async (_name, environment) => {
    const started = await start({ environment })
    await createDelivery(started)
    const uuids = [await enqueueOne(started.ctx), await enqueueOne(started.ctx)]
    await waitUntil(() => started.logged.length > 0, { describe: 'the failure is logged' })
    expect(started.logged.join()).toMatch(/could not be added/)
    expect((await started.publisher.published.get()).values).toEqual([])
    // Also what was published in this millisecond.
    const republishAfterMs = -1_000
    const found = await findPublishableWork(started.database.db, republishAfterMs)
    expect(found.flatMap((job) => (queueOfJob(job) === 'imports' ? job.id : []))).toEqual(uuids)
  })

  test('once the tables of the queues exist, jobs are added', async () => {
    const { ctx, database, logged, publisher } = await start({ environment: {} })
    await enqueueOne(ctx)
    await waitUntil(() => logged.length > 0, { describe: 'the failure is logged' })
    await migrateQueues(database)
    const isAdded = async () => {
      await enqueueOne(ctx)
      return (await publisher.published.get()).values.length > 0
    }
    await waitUntil(isAdded, { describe: 'a job is added' })
  })

  test('the queues in PostgreSQL get at most two connections', async () => {
    const { ctx, database } = await start({ environment: {}, prepare: migrateQueues })
    const findConnections = async () => {
      const { rows } = await database.pool.query<{ count: number }>(
        `select count(*)::int from pg_stat_activity
         where datname = current_database() and application_name = 'rapport publisher'`,
      )
      return rows[0]?.count ?? 0
    }
    for (let count = 0; count < 50; count++) await enqueueOne(ctx)
    await waitUntil(async () => (await findConnections()) > 0, { describe: 'a connection is open' })
    expect(await findConnections()).toBeLessThanOrEqual(2)
  })
})
