import { connectRedis, type RedisClient } from '@rapport/core/runtime/redis.ts'

/**
 * A connection that fails fast: a command on a connection that is down is refused at once, one that gets no answer is
 * given up after a quarter of a second. It reconnects by itself; `onError` hears of each failure to.
 */
export function openRedis(url: string, onError: (error: Error) => void): RedisClient {
  const redis = connectRedis(url, {
    connectionName: 'rapport api',
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 250,
    connectTimeout: 2_000,
    retryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
  })
  redis.on('error', onError)
  return redis
}

/** In the name of every count: a Redis Cluster keeps together what goes there as one command. */
export const limitTag = '{rapport:limit}'

/** Throws when the limits cannot be counted: in a cluster any node answers a ping, so one is asked for what it keeps. */
export async function probeRedis(redis: RedisClient): Promise<void> {
  await redis.exists(limitTag)
}
