import type { EventEmitter } from 'node:events'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { errorLogger } from '@rapport/core/runtime/logging.ts'
import { directUrlOf } from '@rapport/core/db/pooler.ts'
import { type QueueName, queueNames, queuePrefix, queueSchema, type WorkJob } from '@rapport/core/work/queues.ts'
import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
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
import type { WorkerTimings } from '../process/worker-timings.ts'

type Concurrency = Pick<WorkerOptions, 'concurrency'>
/** The queue methods that the worker uses. Both backends implement them. */
export type WorkQueue = Pick<
  Queue,
  'addBulk' | 'getJobCounts' | 'getJobs' | 'getJobScheduler' | 'upsertJobScheduler' | 'close'
>

export type JobWorker = Pick<Worker, 'close'>

/** BullMQ on Redis or on PostgreSQL, behind one interface. */
export interface QueueBackend {
  name: 'redis' | 'postgres'
  openQueue(name: QueueName): WorkQueue
  openWorker(name: QueueName, process: Processor, options: Concurrency): JobWorker
  /** Resolves after the first connection attempt, so that startup is not reported as an outage. */
  firstConnection: Promise<void>
  /** Rejects while Redis is unavailable. Undefined on the PostgreSQL backend. */
  ping: (() => Promise<unknown>) | undefined
  /** Rejects while the queues reject writes, for example because Redis is full or a read-only replica. */
  probeWrites: () => Promise<unknown>
  close(): Promise<void>
}

/** Uses Redis if REDIS_URL is set (recommended for production), otherwise BullMQ's PostgreSQL backend. */
export async function openQueueBackend(config: WorkerConfig, options: BackendOptions): Promise<QueueBackend> {
  return config.REDIS_URL
    ? openRedisBackend(config.REDIS_URL, options)
    : openPostgresBackend(directUrlOf(config), options)
}

interface BackendOptions {
  log: Logger
  timings: WorkerTimings
}

const weekSeconds = 7 * 24 * 3600
/** Finished jobs that each queue keeps for the dashboard. */
const jobRetention = {
  removeOnComplete: { age: weekSeconds, count: 1000 },
  removeOnFail: { age: weekSeconds, count: 1000 },
}

/**
 * If a worker crashes before it claims the work of a job, no claim in PostgreSQL shows this: BullMQ runs the job again
 * as stalled. The high maximum is safe, because the claim makes a second run a no-op.
 */
const stalledJobOptions = ({ jobLockMs, stalledCheckMs }: WorkerTimings) => ({
  lockDuration: jobLockMs,
  stalledInterval: stalledCheckMs,
  maxStalledCount: 1_000,
})

function openRedisBackend(url: string, { log, timings }: BackendOptions): QueueBackend {
  const onError = errorLogger(log, 'Redis unavailable; retrying')
  const retryStrategy = (attempt: number) => Math.min(attempt * 100, 1_000)
  // Adds jobs. Fails fast: the work is stored in PostgreSQL, and the poll publishes it.
  const producer = connectRedis(url, {
    connectionName: 'rapport publisher',
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: timings.redisCommandTimeoutMs,
    // Discards the commands that a server that hangs has not received, instead of collecting them.
    socketTimeout: timings.redisCommandTimeoutMs,
    retryStrategy,
  })
  // Fetches jobs. Waits for Redis without a limit.
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
            ...stalledJobOptions(timings),
            ...options,
          }),
          onError,
        ),
        log,
      ),
    firstConnection,
    // In a Redis Cluster, these keys are on the nodes that store the queues.
    ping: () => Promise.all(queueNames.map((name) => producer.exists(`${queuePrefix(name)}:${name}:meta`))),
    // The keys expire at once.
    probeWrites: () => Promise.all(queueNames.map((name) => producer.set(`${queuePrefix(name)}:probe`, '', 'PX', 1))),
    async close() {
      producer.disconnect()
      consumer.disconnect()
    },
  }
}

async function openPostgresBackend(connectionString: string, { log, timings }: BackendOptions): Promise<QueueBackend> {
  const onError = errorLogger(log, 'PostgreSQL queues unavailable; retrying')
  const postgres = withBackend(createPostgresBackend)
  const pool = openQueuePool(connectionString, onError)
  // The pool would wait for a connection that did not close in time.
  const close = () => withTimeout(pool.end()).catch(onError)
  try {
    await withTimeout(migrateQueues(connectionString), timings.queueStartTimeoutMs)
  } catch (error) {
    await close()
    throw error
  }
  // BullMQ and @types/pg declare `on` differently.
  const connection = pool as unknown as PgPool
  return {
    name: 'postgres',
    openQueue: (name) => withErrorListener(new postgres.Queue(name, { connection }), onError),
    openWorker: (name, process, options) =>
      withJobLogging(
        withErrorListener(
          new postgres.Worker(name, process, {
            connection,
            ...jobRetention,
            ...stalledJobOptions(timings),
            ...options,
          }),
          onError,
        ),
        log,
      ),
    firstConnection: Promise.resolve(),
    ping: undefined,
    // PostgreSQL rejects the statement in a read-only transaction, although it deletes nothing.
    probeWrites: () => pool.query('delete from job where false'),
    close,
  }
}

/** Connections for queries, shared by all queues and workers. */
const queryConnections = 15

/**
 * The connection pool of BullMQ's PostgreSQL backend. Each BullMQ worker uses one connection for LISTEN. BullMQ expects
 * the pool to set `search_path` and TCP keep-alive. The timeouts are those of `openDatabase`.
 */
export function openQueuePool(
  connectionString: string,
  onError: (error: Error) => void,
  { connectionTimeoutMs = 2_000, queryTimeoutMs = 12_000 } = {},
): pg.Pool {
  const pool = new pg.Pool({
    ...connectionOptions(connectionString, connectionTimeoutMs),
    query_timeout: queryTimeoutMs,
    max: queueNames.length + queryConnections,
  })
  // Each queue and each worker adds a listener, which exceeds the default of 10.
  pool.setMaxListeners(0)
  return pool.on('error', onError).on('connect', replayConnectionError)
}

const connectionOptions = (connectionString: string, connectionTimeoutMillis: number) => ({
  connectionString,
  application_name: 'rapport queues',
  options: `-c search_path=${queueSchema}`,
  connectionTimeoutMillis,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
})

/**
 * BullMQ attaches its error listener some time after it gets a connection. An error in between would crash the process,
 * and BullMQ would keep using the broken LISTEN connection. A listener that is attached later therefore receives the
 * error too.
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

/** On a connection without `query_timeout`: a migration of many jobs takes longer than any other statement. */
async function migrateQueues(connectionString: string) {
  const client = new pg.Client(connectionOptions(connectionString, 2_000))
  client.on('error', () => {})
  try {
    await client.connect()
    await runMigrations(client, queueSchema)
  } finally {
    await client.end()
  }
}

/** Warns about Redis settings that could lose or reject jobs. The poll would add these jobs again, but late. */
async function warnAboutRedisSettings(redis: RedisClient, log: Logger) {
  try {
    for (const warning of getRedisWarnings(await redis.info())) log.warn(warning)
  } catch (error) {
    log.warn({ err: error }, 'Redis settings could not be read')
  }
}

function withErrorListener<Source extends { on(event: 'error', listener: (error: Error) => void): unknown }>(
  source: Source,
  onError: (error: Error) => void,
): Source {
  source.on('error', onError)
  return source
}

function withJobLogging<Source extends JobWorker & { name: string; on(event: never, listener: never): unknown }>(
  worker: Source,
  log: Logger,
): Source {
  const events = worker as unknown as Pick<Worker, 'on'>
  events.on('failed', (job, error) => {
    const { requestId } = (job?.data ?? {}) as Partial<WorkJob>
    log.warn({ err: error, queue: worker.name, jobId: job?.id, requestId }, 'job failed')
  })
  events.on('stalled', (jobId) => log.warn({ queue: worker.name, jobId }, 'job stalled'))
  return worker
}
