import type { Db } from '@rapport/core/db/client.ts'
import { directUrlOf } from '@rapport/core/db/pooler.ts'
import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import type { ApiConfig } from '@rapport/core/runtime/config.ts'
import { createRegistry } from '@rapport/core/runtime/metrics.ts'
import { connectRedis } from '@rapport/core/runtime/redis.ts'
import { errorLogger } from '@rapport/core/runtime/logging.ts'
import { defaultQueueTimings, openJobQueues } from '@rapport/core/work/job-queues.ts'
import { createPublishedCounter } from '@rapport/core/work/published-counter.ts'
import { attachPublisher, createPublisher } from '@rapport/core/work/publisher.ts'
import { type QueueName, queueSchema } from '@rapport/core/work/queues.ts'
import pg from 'pg'
import type { FastifyBaseLogger } from 'fastify'
import { openQueue } from './open-queue.ts'

export interface ApiPublisher {
  /** Counts the added jobs by queue. */
  published: ReturnType<typeof createPublishedCounter>
  /** Adds what is pending, within a timeout. */
  close(): Promise<void>
}

export type PublisherTimings = typeof publisherTimings

/** Shorter than in a worker: while an add hangs, other work is only collected. */
export const publisherTimings = { ...defaultQueueTimings, addTimeoutMs: 2_000, redisCommandTimeoutMs: 1_000 }

/**
 * Attaches the publisher of the API to its database. Requests are independent of it: while the queues are unavailable, an
 * add fails in the background, and the poll of a worker publishes the work.
 */
export function openPublisher(
  config: ApiConfig,
  options: { db: Db; log: FastifyBaseLogger; timings?: PublisherTimings },
): ApiPublisher {
  const { db, log, timings = publisherTimings } = options
  const onError = errorLogger(log, 'jobs could not be added to the queues; a worker adds them')
  const published = createPublishedCounter(createRegistry())
  const backend = config.REDIS_URL
    ? connectToRedis(config.REDIS_URL, onError, timings)
    : connectToPostgres(directUrlOf(config), onError, timings)
  const queues = openJobQueues(backend, { timings, onAdd: (queue, count) => published.inc({ queue }, count) })
  const publisher = createPublisher({ add: (queue, jobs) => queues.add(queue, jobs), onError })
  attachPublisher(db, publisher)
  return {
    published,
    async close() {
      await withTimeout(publisher.close(), timings.closeTimeoutMs).catch(() => {})
      await queues.close()
      await backend.close()
    },
  }
}

/** Fails fast: without a connection, an add is rejected at once. */
function connectToRedis(url: string, onError: (error: Error) => void, timings: PublisherTimings) {
  const redis = connectRedis(url, {
    connectionName: 'rapport publisher',
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: timings.redisCommandTimeoutMs,
    // Discards the commands that a server that hangs has not received, instead of collecting them.
    socketTimeout: timings.redisCommandTimeoutMs,
    retryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
  })
  redis.on('error', onError)
  return {
    openQueue(name: QueueName) {
      // A queue that is opened without a connection would wait for it.
      if (redis.status !== 'ready') throw new Error('Redis is not connected')
      return openQueue(name, { redis, postgres: '', onError })
    },
    close: async () => redis.disconnect(),
  }
}

/** The queues share two connections, which are opened on the first add. */
function connectToPostgres(connectionString: string, onError: (error: Error) => void, timings: PublisherTimings) {
  const pool = new pg.Pool({
    connectionString,
    application_name: 'rapport publisher',
    options: `-c search_path=${queueSchema}`,
    max: 2,
    connectionTimeoutMillis: timings.addTimeoutMs,
    query_timeout: timings.addTimeoutMs,
    keepAlive: true,
  })
  pool.on('error', onError)
  // Without a listener, the error of a connection in use would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  // A queue adds listeners to its pool and never removes them. After an error a new queue is opened, so it gets this.
  const connection = {
    connect: () => pool.connect(),
    query: (text: string, values?: unknown[]) => pool.query(text, values),
    on: () => connection,
    end: async () => {},
    options: pool.options,
  }
  return {
    openQueue: (name: QueueName) => openQueue(name, { redis: undefined, postgres: connection, onError }),
    // The pool would wait for the connection of an add that hangs.
    close: () => withTimeout(pool.end(), timings.closeTimeoutMs).catch(onError),
  }
}
