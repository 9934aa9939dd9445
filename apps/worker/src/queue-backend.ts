import type { EventEmitter } from 'node:events'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { errorLogger } from '@rapport/core/runtime/logging.ts'
import { directUrlOf } from '@rapport/core/db/pooler.ts'
import { type QueueName, queueNames, queuePrefix, queueSchema, type WorkJob } from '@rapport/core/jobs/queues.ts'
import { withTimeout } from '@rapport/core/kernel/with-timeout.ts'
import { getRedisWarnings } from '@rapport/core/runtime/redis-settings.ts'
import { connectRedis, type RedisClient } from '@rapport/core/runtime/redis.ts'
import {
  createPostgresBackend,
  type PgPool,
  type Processor,
  Queue,
  runMigrations,
  Worker,
  type WorkerOptions,
  withBackend,
} from 'bullmq'
import pg from 'pg'
import type { Logger } from 'pino'

type Concurrency = Pick<WorkerOptions, 'concurrency'>
/** What the worker uses of a queue, on either backend. */
export type WorkQueue = Pick<
  Queue,
  'addBulk' | 'getJobCounts' | 'getJobs' | 'getJobScheduler' | 'upsertJobScheduler' | 'close'
>

export type JobWorker = Pick<Worker, 'close'>

/** Where the queues live. The rest of the worker does not know which it is. */
export interface QueueBackend {
  name: 'redis' | 'postgres'
  openQueue(name: QueueName): WorkQueue
  openWorker(name: QueueName, process: Processor, options: Concurrency): JobWorker
  /** Resolves after the first attempt to connect, so that a start does not look like an outage. */
  firstConnection: Promise<void>
  /** Whether Redis is there; none where it is not used. */
  ping: (() => Promise<unknown>) | undefined
  close(): Promise<void>
}

/** Redis when it is configured, the way to run in earnest; else BullMQ's own PostgreSQL backend in the same database. */
export async function openQueueBackend(config: WorkerConfig, log: Logger): Promise<QueueBackend> {
  return config.REDIS_URL ? openRedisBackend(config.REDIS_URL, log) : openPostgresBackend(directUrlOf(config), log)
}

const weekSeconds = 7 * 24 * 3600
/** Kept for the dashboard, of each queue. */
const jobRetention = {
  removeOnComplete: { age: weekSeconds, count: 1000 },
  removeOnFail: { age: weekSeconds, count: 1000 },
}

/**
 * A worker that dies between a job and its claim leaves nothing in PostgreSQL to know it by: the queue itself gives the
 * job to another, soon, and however often it happens, as a claim makes a second run harmless.
 */
const stalledJobOptions = { lockDuration: 15_000, stalledInterval: 5_000, maxStalledCount: 1_000 }

function openRedisBackend(url: string, log: Logger): QueueBackend {
  const onError = errorLogger(log, 'Redis is away')
  const retryStrategy = (attempt: number) => Math.min(attempt * 100, 1_000)
  // Adds jobs: fails fast, as PostgreSQL has the work.
  const producer = connectRedis(url, {
    connectionName: 'rapport relay',
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 5_000,
    retryStrategy,
  })
  // To take work: patient, waits for Redis as long as it takes.
  const consumer = connectRedis(url, { connectionName: 'rapport worker', maxRetriesPerRequest: null, retryStrategy })
  for (const redis of [producer, consumer]) redis.on('error', onError)
  producer.once('ready', () => void warnAboutRedisSettings(producer, log))
  const firstConnection = new Promise<void>((resolve) => producer.once('ready', resolve).once('error', () => resolve()))
  return {
    name: 'redis',
    openQueue: (name) =>
      withErrorListener(new Queue(name, { connection: producer, prefix: queuePrefix(name) }), onError),
    openWorker: (name, process, options) =>
      withJobLogging(
        withErrorListener(
          new Worker(name, process, {
            connection: consumer,
            prefix: queuePrefix(name),
            ...jobRetention,
            ...stalledJobOptions,
            ...options,
          }),
          onError,
        ),
        log,
      ),
    firstConnection,
    // Asks the servers of a cluster that have the queues.
    ping: () => Promise.all(queueNames.map((name) => producer.exists(`${queuePrefix(name)}:${name}:meta`))),
    async close() {
      producer.disconnect()
      consumer.disconnect()
    },
  }
}

async function openPostgresBackend(connectionString: string, log: Logger): Promise<QueueBackend> {
  const onError = errorLogger(log, 'the queues in PostgreSQL are away')
  const postgres = withBackend(createPostgresBackend)
  const pool = openQueuePool(connectionString, onError)
  await withTimeout(migrateQueues(pool), startTimeoutMs)
  // @types/pg declares `on` in another way.
  const connection = pool as unknown as PgPool
  return {
    name: 'postgres',
    openQueue: (name) => withErrorListener(new postgres.Queue(name, { connection }), onError),
    openWorker: (name, process, options) =>
      withJobLogging(
        withErrorListener(
          new postgres.Worker(name, process, { connection, ...jobRetention, ...stalledJobOptions, ...options }),
          onError,
        ),
        log,
      ),
    firstConnection: Promise.resolve(),
    ping: undefined,
    // A worker that did not close in time still has its connection, and the pool would wait for it.
    close: () => withTimeout(pool.end()).catch(onError),
  }
}

/** A worker that cannot reach PostgreSQL, or waits for another one's migration, fails its start instead of hanging. */
const startTimeoutMs = 10_000

/** Shared by all queues and workers. */
const queryConnections = 15

/**
 * The connections of BullMQ's PostgreSQL backend: each worker keeps one for LISTEN. BullMQ leaves `search_path` and TCP
 * keep-alive to the owner of a pool.
 */
export function openQueuePool(connectionString: string, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    application_name: 'rapport queues',
    options: `-c search_path=${queueSchema}`,
    max: queueNames.length + queryConnections,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })
  // Each queue and each worker adds a listener.
  pool.setMaxListeners(0)
  return pool.on('error', onError).on('connect', replayConnectionError)
}

/**
 * Between the hand-out of a connection and BullMQ's own listener an error would end the process, and BullMQ would keep the
 * broken LISTEN connection forever. So a listener that comes after the error receives it too.
 */
function replayConnectionError(client: EventEmitter) {
  let firstError: Error | undefined
  client.on('error', (error: Error) => {
    firstError ??= error
  })
  client.on('newListener', (event, listener: (error: Error) => void) => {
    if (event === 'error' && firstError) process.nextTick(listener, firstError)
  })
}

async function migrateQueues(pool: pg.Pool) {
  const client = await pool.connect()
  try {
    await runMigrations(client, queueSchema)
  } finally {
    client.release()
  }
}

/** Says once at the start what would lose or refuse jobs; they would be made good, but late. */
async function warnAboutRedisSettings(redis: RedisClient, log: Logger) {
  try {
    for (const warning of getRedisWarnings(await redis.info())) log.warn(warning)
  } catch (error) {
    log.warn({ err: error }, 'the settings of Redis could not be read')
  }
}

function withErrorListener<Source extends { on(event: 'error', listener: (error: Error) => void): unknown }>(
  source: Source,
  onError: (error: Error) => void,
): Source {
  source.on('error', onError)
  return source
}

/** Says which jobs failed or stalled. */
function withJobLogging<Source extends JobWorker & { name: string; on(event: never, listener: never): unknown }>(
  worker: Source,
  log: Logger,
): Source {
  const events = worker as unknown as Pick<Worker, 'on'>
  events.on('failed', (job, error) => {
    const { requestId } = (job?.data ?? {}) as Partial<WorkJob>
    log.warn({ err: error, queue: worker.name, jobId: job?.id, requestId }, 'a job failed')
  })
  events.on('stalled', (jobId) => log.warn({ queue: worker.name, jobId }, 'a job stalled'))
  return worker
}
