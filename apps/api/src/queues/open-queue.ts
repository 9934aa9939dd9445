import { type QueueName, queuePrefix } from '@rapport/core/work/queues.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import { createPostgresBackend, type PostgresConnectionOptions, Queue, withBackend } from 'bullmq'

const postgresBackend = withBackend(createPostgresBackend)

/** Opens a queue in Redis, or without a connection to Redis in PostgreSQL. */
export function openQueue(
  name: QueueName,
  connections: {
    redis: RedisClient | undefined
    postgres: PostgresConnectionOptions
    onError: (error: Error) => void
  },
): Queue {
  const { redis, postgres, onError } = connections
  const queue = redis
    ? new Queue(name, { connection: redis, prefix: queuePrefix(name) })
    : (new postgresBackend.Queue(name, { connection: postgres }) as unknown as Queue)
  queue.on('error', onError)
  return queue
}
