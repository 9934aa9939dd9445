/** How the relay finds webhooks with PENDING deliveries. */
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
import type { QueueBackend } from './queue-backend.ts'
import { shortTimings, startTestRelay, testWorkerConfig } from '../../test/fixtures.ts'
import type { DrainCooldown } from '../webhook-delivery/drain-cooldown.ts'

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

async function start(config: WorkerConfig, options: { pollMs?: number; drainCooldown?: DrainCooldown } = {}) {
  const startedAt = (await database.pool.query<{ now: Date }>('select clock_timestamp() as now')).rows[0]?.now
  const { pollMs = shortTimings.pollMs, ...others } = options
  // Only the polling worker polls for backlogs.
  const timings = { ...shortTimings, pollMs, otherWorkersPollMs: 3_600_000 }
  const started = await startTestRelay(config, { database, timings, ...others })
  closers.push(started.close)
  // A notification before LISTEN is only found by the next poll.
  const isListening = async () =>
    (
      await database.pool.query(
        `select from pg_stat_activity
         where datname = current_database() and query ilike 'listen %' and state = 'idle' and backend_start >= $1`,
        [startedAt],
      )
    ).rowCount
  await waitUntil(isListening, { describe: 'the relay listens' })
  return started
}

/** Starts a worker that only records the ids of its jobs. */
function startWorker(backend: QueueBackend, queue: QueueName = 'webhooks') {
  const worker = backend.openWorker(queue, async (job) => void received.push((job.data as WorkJob).id), {
    concurrency: 5,
  })
  closers.push(() => worker.close())
}

const waitUntilReceived = (uuids: string[], timeoutMs = 10_000) =>
  waitUntil(() => uuids.every((uuid) => received.includes(uuid)), { describe: 'the jobs were received', timeoutMs })

describe.each([
  ['Redis', onRedis],
  ['PostgreSQL', onPostgres],
])('with the queues in %s', (_name, config) => {
  test('a notification of a new delivery adds a job for its webhook before the next poll', async () => {
    const { backend } = await start(config(), { pollMs: 3_600_000 })
    startWorker(backend)
    const webhook = await createTestWebhook(ctx)
    const uuid = uuidOf(webhook.id)
    // The relay polls in its first round.
    await createTestContact(ctx)
    await waitUntilReceived([uuid])
    received = []
    await createTestContact(ctx)
    await waitUntilReceived([uuid])
  })

  test('a notification adds no job for a webhook during its cooldown', async () => {
    const inCooldown = new Set<string>()
    const drainCooldown = { start: () => {}, isActive: (uuid: string) => inCooldown.has(uuid) }
    const { backend } = await start(config(), { pollMs: 3_600_000, drainCooldown })
    startWorker(backend)
    const first = await createTestWebhook(ctx)
    await createTestContact(ctx)
    // The relay polls in its first round.
    await waitUntilReceived([uuidOf(first.id)])
    const [skipped, other] = [uuidOf((await createTestWebhook(ctx)).id), uuidOf((await createTestWebhook(ctx)).id)]
    inCooldown.add(skipped)
    for (let round = 0; round < 2; round++) {
      received = []
      await createTestContact(ctx)
      await waitUntilReceived([other])
    }
    expect(received).not.toContain(skipped)
    inCooldown.delete(skipped)
    await createTestContact(ctx)
    await waitUntilReceived([skipped])
  })

  test('the poll finds a backlog without a notification', async () => {
    const { backend } = await start(config())
    startWorker(backend)
    const webhook = await createTestWebhook(ctx)
    await addBacklog(ctx, webhook.id, 3)
    await waitUntilReceived([uuidOf(webhook.id)])
  })
})

describe('polling for backlogs', () => {
  test('is done by one worker until its heartbeat expires, then by another', async () => {
    const relays = [await start(onPostgres()), await start(onPostgres())]
    const [first, second] = relays.toSorted((a, b) => a.workerId.localeCompare(b.workerId))
    if (!first || !second) throw new Error('Expected two relays')
    startWorker(first.backend)
    await first.relay.close()
    const webhook = await createTestWebhook(ctx)
    await addBacklog(ctx, webhook.id, 1)
    startWorker(second.backend, 'mail')
    // After the second piece of work, at least one poll has completed.
    for (let poll = 0; poll < 2; poll++) await waitUntilReceived([await insertWork()])
    expect(received).not.toContain(uuidOf(webhook.id))
    await expireWorkerHeartbeat(database.db, first.workerId)
    await waitUntilReceived([uuidOf(webhook.id)])
  })

  /** Inserts work without a notification. Returns its UUID. */
  async function insertWork() {
    const uuid = randomUUID()
    await database.pool.query(`insert into work (id, workspace_id, kind) values ($1, $2, 'MAIL')`, [
      uuid,
      uuidOf(ctx.workspaceId),
    ])
    return uuid
  }

  test('finds more webhooks than one page of the query has', async () => {
    const webhooks: string[] = []
    for (let workspace = 0; workspace < 28; workspace++) {
      const { workspaceId } = await createTestCtx(database.db)
      const { rows } = await database.pool.query<{ webhook_id: string }>(
        `with webhook as (
           insert into webhooks (workspace_id, id, url, event_types, encrypted_secret)
           select $1, uuidv7(), 'https://example.com', '{}', '' from generate_series(1, 20) returning workspace_id, id)
         insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
         select workspace_id, uuidv7(), id, uuidv7(), 'contact.created' from webhook returning webhook_id`,
        [uuidOf(workspaceId)],
      )
      webhooks.push(...rows.map(({ webhook_id }) => webhook_id))
    }
    expect(webhooks).toHaveLength(560)
    const { backend, workerId } = await start(onPostgres())
    // The relay has no heartbeat in this test.
    await database.pool.query(`update workers set seen_at = now() + interval '1 hour' where id = $1`, [workerId])
    startWorker(backend)
    // The queue may have jobs of earlier tests, too.
    const areReceived = () => {
      const found = new Set(received)
      return webhooks.every((uuid) => found.has(uuid))
    }
    await waitUntil(areReceived, { describe: 'all webhooks are found' })
  })
})

test('an unclaimed backlog gets a new job after Redis is flushed', async () => {
  const { backend } = await start(onRedis())
  const webhook = await createTestWebhook(ctx)
  await createTestContact(ctx)
  await redis.flush()
  startWorker(backend)
  await waitUntilReceived([uuidOf(webhook.id)])
})
