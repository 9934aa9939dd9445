import { createHash, randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { WorkerConfig } from '@rapport/core/config.ts'
import { errorLogger } from '@rapport/core/observability/log.ts'
import { sessionUrlOf } from '@rapport/core/pooler.ts'
import { type QueueName, queueNames, queuePrefix, queueSchema, type WorkJob } from '@rapport/core/queues.ts'
import { complaintsAboutRedis } from '@rapport/core/redis-settings.ts'
import { connectRedis, type RedisClient } from '@rapport/core/redis.ts'
import { createPostgresBackend, type Processor, Queue, Worker, type WorkerOptions, withBackend } from 'bullmq'
import pg from 'pg'
import type { Logger } from 'pino'

type Concurrency = Pick<WorkerOptions, 'concurrency'>
/** What the worker needs of a queue to hand work over and to look at it, on either backend. */
export type WorkQueue = Pick<
  Queue,
  'addBulk' | 'getJobState' | 'getJobCounts' | 'getJobs' | 'upsertJobScheduler' | 'close'
>

export type JobWorker = Pick<Worker, 'close'>

/** Where the queues live. The rest of the worker does not know which it is. */
export interface QueueBackend {
  name: 'redis' | 'postgres'
  openQueue(name: QueueName): WorkQueue
  openWorker(name: QueueName, process: Processor, options: Concurrency): JobWorker
  /**
   * Names the present life of the queues' store; another name means that what was handed over may be lost.
   * Throws, soon, when the store is away.
   */
  readEpoch(): Promise<string>
  /** Whether Redis is there; none where it is not used. */
  ping: (() => Promise<unknown>) | undefined
  close(): Promise<void>
}

/** Redis when it is configured, the way to run in earnest; else BullMQ's own PostgreSQL backend in the same database. */
export function chooseBackend(config: WorkerConfig, log: Logger): QueueBackend {
  return config.REDIS_URL ? onRedis(config.REDIS_URL, log) : onPostgres(sessionUrlOf(config), log)
}

/** Kept for the dashboard: failures of a week, a thousand at most. */
const keptJobs = { removeOnComplete: { count: 0 }, removeOnFail: { age: 7 * 24 * 3600, count: 1000 } }

/**
 * A worker that dies between a job and its claim leaves nothing in PostgreSQL to know it by: the queue itself gives the
 * job to another, soon, and however often it happens, as a claim makes a second run harmless.
 */
const stalledJobs = { lockDuration: 15_000, stalledInterval: 5_000, maxStalledCount: 1_000 }

function onRedis(url: string, log: Logger): QueueBackend {
  const onError = errorLogger(log, 'Redis is away')
  const retryStrategy = (attempt: number) => Math.min(attempt * 100, 1_000)
  // To hand work over: fails fast, as the outbox keeps what was not taken.
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
  producer.once('ready', () => void complainOfSettings(producer, log))
  // The very first connection is awaited, so that a start looks like no outage.
  const tried = new Promise<void>((resolve) => producer.once('ready', resolve).once('error', resolve))
  return {
    name: 'redis',
    openQueue: (name) => listening(new Queue(name, { connection: producer, prefix: queuePrefix(name) }), onError),
    openWorker: (name, process, options) =>
      reporting(
        listening(
          new Worker(name, process, {
            connection: consumer,
            prefix: queuePrefix(name),
            ...keptJobs,
            ...stalledJobs,
            ...options,
          }),
          onError,
        ),
        log,
      ),
    readEpoch: async () => {
      await tried
      return readRedisEpoch(producer)
    },
    // Of the servers that keep the queues, and also where they refuse to be written to.
    ping: () => Promise.all(queueNames.map((name) => producer.exists(lifeKey(name)))),
    async close() {
      producer.disconnect()
      consumer.disconnect()
    },
  }
}

function onPostgres(connectionString: string, log: Logger): QueueBackend {
  const onError = errorLogger(log, 'the queues in PostgreSQL are away')
  const postgres = withBackend(createPostgresBackend)
  const connection = { connectionString, schema: queueSchema, max: 5, migrate: true }
  return {
    name: 'postgres',
    openQueue: (name) => listening(new postgres.Queue(name, { connection }), onError),
    openWorker: (name, process, options) =>
      reporting(
        listening(new postgres.Worker(name, process, { connection, ...keptJobs, ...stalledJobs, ...options }), onError),
        log,
      ),
    // The queues live and die with the outbox itself.
    readEpoch: async () => 'postgres',
    ping: undefined,
    close: async () => {},
  }
}

/**
 * A connection that breaks fails its statement, or is replaced; unheard, its error would end the process. BullMQ begins to
 * hear its LISTEN connection only once that is connected, hears none of its others while they are at work, and takes
 * every listener off the one that it gives up. So every connection hears its own errors, from first to last.
 */
const { prototype } = pg.Client
const broken = new WeakSet<pg.Client>()
type Method = (this: pg.Client, ...parameters: unknown[]) => unknown
const connect = Reflect.get(prototype, 'connect') as Method
Reflect.set(prototype, 'connect', function (this: pg.Client, ...rest: unknown[]) {
  this.on('error', () => broken.add(this))
  return connect.apply(this, rest)
})

/**
 * One that broke before BullMQ heard it is asked again and again, and its refusals would come so fast that nothing else
 * in the process ever had its turn. So it refuses a turn later, and says once more that it is broken.
 */
const query = Reflect.get(prototype, 'query') as Method
Reflect.set(prototype, 'query', function (this: pg.Client, ...rest: unknown[]) {
  const isPlain = typeof rest.at(-1) !== 'function' && !(typeof rest[0] === 'object' && rest[0] && 'submit' in rest[0])
  if (!isPlain || !broken.has(this)) return query.apply(this, rest)
  return nextTurn().then(() => {
    const error = new Error('Client has encountered a connection error and is not queryable')
    this.emit('error', error)
    throw error
  })
})

const takeOff = Reflect.get(prototype, 'removeAllListeners') as Method
Reflect.set(prototype, 'removeAllListeners', function (this: pg.Client, ...events: [(string | symbol)?]) {
  takeOff.call(this, ...events)
  return events.length === 0 ? this.on('error', () => broken.add(this)) : this
})

const lifeKey = (name: QueueName) => `${queuePrefix(name)}:life`

/** In the script, so that it is the very server that keeps the queue which tells of itself. */
const lifeScript = `
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1]) .. string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')`

/**
 * Of each queue a marker that goes when its server is emptied, and the server's own run id, which changes when it is
 * restarted, or another takes its place: the newest data may be lost even with persistence and replicas, and to hand
 * work over twice is harmless.
 */
async function readRedisEpoch(redis: RedisClient): Promise<string> {
  const lives = queueNames.map((name) => redis.eval(lifeScript, 1, lifeKey(name), randomUUID()))
  return createHash('sha256')
    .update((await Promise.all(lives)).join())
    .digest('base64url')
}

/** Says once at the start what would lose or refuse jobs; they would be made good, but late. */
async function complainOfSettings(redis: RedisClient, log: Logger) {
  try {
    for (const complaint of complaintsAboutRedis(await redis.info())) log.warn(complaint)
  } catch (error) {
    log.warn({ err: error }, 'the settings of Redis could not be read')
  }
}

function listening<Source extends { on(event: 'error', listener: (error: Error) => void): unknown }>(
  source: Source,
  onError: (error: Error) => void,
): Source {
  source.on('error', onError)
  return source
}

/** Says which jobs failed or stalled. */
function reporting<Source extends JobWorker & { name: string; on(event: never, listener: never): unknown }>(
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
