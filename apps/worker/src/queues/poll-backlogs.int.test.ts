/** How the poll finds workspaces with PENDING deliveries. */
import { randomUUID } from 'node:crypto'
import type { QueueName, WorkJob } from '@rapport/core/work/queues.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import {
  createTestContact,
  createTestCtx,
  createTestWebhook,
  expireWorkerHeartbeat,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { addBacklog } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defaultTimings } from '../process/worker-timings.ts'
import type { QueueBackend } from './queue-backend.ts'
import { shortTimings, startTestPoller, testWorkerConfig, type TestPollerOptions } from '../../test/fixtures.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const redis = useForFile(createTestRedis)
let received: string[]
const closers: (() => Promise<unknown>)[] = []
beforeEach(() => void (received = []))
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
  await database.pool.query('truncate work, workers, deliveries')
})

const onRedis = () => testWorkerConfig({ DATABASE_URL: database.url, REDIS_URL: redis.url })
const onPostgres = () => testWorkerConfig({ DATABASE_URL: database.url })

async function start(config: WorkerConfig, options: Omit<TestPollerOptions, 'database'> & { pollMs?: number } = {}) {
  const { pollMs = shortTimings.pollMs, ...rest } = options
  // Only the polling worker polls.
  const { addTimeoutMs } = defaultTimings
  const timings = { ...shortTimings, addTimeoutMs, pollMs, otherWorkersPollMs: 3_600_000 }
  const started = await startTestPoller(config, { database, timings, ...rest })
  closers.push(started.close)
  return started
}

/** Starts a worker that only records the workspaces of its jobs. */
function startWorker(backend: QueueBackend, queue: QueueName = 'webhooks') {
  const worker = backend.openWorker(queue, async (job) => void received.push((job.data as WorkJob).workspaceId), {
    concurrency: 5,
  })
  closers.push(() => worker.close())
}

const waitUntilReceived = (workspaceId = ctx.workspaceId) =>
  waitUntil(() => received.includes(workspaceId), { describe: 'the job was received' })

describe.each([
  ['Redis', onRedis],
  ['PostgreSQL', onPostgres],
])('with the queues in %s', (_name, config) => {
  test('a commit with a new delivery adds a job for its workspace before the next poll', async () => {
    const { backend } = await start(config(), { pollMs: 3_600_000, publishes: true })
    startWorker(backend)
    await createTestWebhook(ctx)
    for (let contact = 0; contact < 5; contact++) {
      received = []
      await createTestContact(ctx)
      await waitUntilReceived()
    }
  })

  test('the poll finds a backlog that was not published', async () => {
    const { backend } = await start(config())
    startWorker(backend)
    const webhook = await createTestWebhook(ctx)
    await addBacklog(ctx, webhook.id, 3)
    await waitUntilReceived()
  })
})

describe('polling', () => {
  test('the poll finds backlogs while it cannot find mails of visitors', async () => {
    const webhook = await createTestWebhook(ctx)
    await addBacklog(ctx, webhook.id, 3)
    await database.pool.query('alter table visitor_mails rename to away')
    closers.push(() => database.pool.query('alter table away rename to visitor_mails'))
    const { backend } = await start(onPostgres())
    startWorker(backend)
    await waitUntilReceived()
  })

  test('is done by one worker until its heartbeat expires, then by another', async () => {
    const added = new Set<string>()
    const startOne = (name: string) => start(onPostgres(), { onAdd: () => void added.add(name) })
    const workers = [
      { name: 'one', ...(await startOne('one')) },
      { name: 'two', ...(await startOne('two')) },
    ]
    const [first, second] = workers.toSorted((a, b) => a.workerId.localeCompare(b.workerId))
    if (!first || !second) throw new Error('Expected two workers')
    startWorker(first.backend)
    // The workers have no heartbeat in this test.
    await database.pool.query(`update workers set seen_at = now() + interval '1 hour'`)
    // A poll of the other worker may have begun before.
    const waitForPollsOf = ({ name }: { name: string }) => {
      const isPolling = async () => {
        added.clear()
        await waitUntilPublished(await insertWork())
        return added.size === 1 && added.has(name)
      }
      return waitUntil(isPolling, { describe: `worker ${name} polls` })
    }
    await waitForPollsOf(first)
    for (let poll = 0; poll < 10; poll++) await waitUntilPublished(await insertWork())
    await addBacklog(ctx, (await createTestWebhook(ctx)).id, 1)
    await waitUntil(() => received.length === 1, { describe: 'the backlog is found' })
    expect(added).toEqual(new Set([first.name]))
    await expireWorkerHeartbeat(database.db, first.workerId)
    await waitForPollsOf(second)
    await waitUntilPublished(await insertWork())
    expect(added).toEqual(new Set([second.name]))
  })

  /** Inserts work as a process without a publisher. Returns its UUID. */
  async function insertWork() {
    const uuid = randomUUID()
    await database.pool.query(`insert into work (id, workspace_id, kind) values ($1, $2, 'MAIL')`, [
      uuid,
      uuidOf(ctx.workspaceId),
    ])
    return uuid
  }

  const waitUntilPublished = (uuid: string) =>
    waitUntil(
      async () => {
        const found = await database.pool.query('select from work where id = $1 and published_at is not null', [uuid])
        return found.rowCount === 1
      },
      { describe: 'the work is published' },
    )

  test('finds the workspaces of more deliveries than one page of the query has', async () => {
    const workspaceIds: string[] = []
    for (let workspace = 0; workspace < 28; workspace++) {
      const { workspaceId } = await createTestCtx(database.db)
      await database.pool.query(
        `with webhook as (
           insert into webhooks (workspace_id, id, url, event_types, encrypted_secret)
           select $1, uuidv7(), 'https://example.com', '{}', '' from generate_series(1, 20) returning workspace_id, id)
         insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
         select workspace_id, uuidv7(), id, uuidv7(), 'contact.created' from webhook`,
        [uuidOf(workspaceId)],
      )
      workspaceIds.push(workspaceId)
    }
    const { backend, workerId } = await start(onPostgres())
    // The worker has no heartbeat in this test.
    await database.pool.query(`update workers set seen_at = now() + interval '1 hour' where id = $1`, [workerId])
    startWorker(backend)
    // The queue may have jobs of earlier tests, too.
    const areReceived = () => {
      const found = new Set(received)
      return workspaceIds.every((id) => found.has(id))
    }
    await waitUntil(areReceived, { describe: 'all workspaces are found' })
  })
})

test('an unclaimed backlog gets a new job after Redis is flushed', async () => {
  const { backend } = await start(onRedis())
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  await redis.flush()
  startWorker(backend)
  await waitUntilReceived()
})
