import { Redis } from 'ioredis'

/**
 * A connection that fails fast: a command on a connection that is down is refused at once, one that gets no answer is
 * given up after a quarter of a second. It reconnects by itself; `onError` hears of each failure to.
 */
export function openRedis(url: string, onError: (error: Error) => void): Redis {
  const redis = new Redis(url, {
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
