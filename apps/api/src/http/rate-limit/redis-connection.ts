import { connectRedis, type RedisClient } from '@rapport/core/runtime/redis.ts'

/**
 * Opens a connection that fails fast: without a connection, a command is rejected immediately; without a response,
 * after 250 ms. Reconnects automatically and calls `onError` for each connection error.
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

/** Hash tag of every key: all keys of one command must be in the same Redis Cluster slot. */
export const limitTag = '{rapport:limit}'

/** Rejects if Redis cannot count. Reads a key, because in a cluster every node responds to PING. */
export async function probeRedis(redis: RedisClient): Promise<void> {
  await redis.exists(limitTag)
}
