import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { parseRedisAddress, type RedisAddress } from './redis-address.ts'

/** One server, the master of the moment, or a cluster. Keys of one command must share a hash tag, such as `{rapport:mail}`. */
export type RedisClient = Redis | Cluster

type Options = Pick<
  RedisOptions,
  'connectionName' | 'enableOfflineQueue' | 'maxRetriesPerRequest' | 'commandTimeout' | 'connectTimeout'
> & {
  /** Must answer: reconnecting never ends. */
  retryStrategy?: (attempt: number) => number
}

/** Opens Redis wherever the address leads, with the same options for each connection. */
export function connectRedis(url: string, options: Options): RedisClient {
  const address = parseRedisAddress(url)
  if (!address) throw new Error('This is no address of a Redis')
  if (address.kind === 'server') return new Redis(address.url, options)
  return address.kind === 'cluster' ? connectCluster(address, options) : connectThroughSentinels(address, options)
}

function connectCluster(address: RedisAddress & { kind: 'cluster' }, options: Options): Cluster {
  const { retryStrategy, enableOfflineQueue, ...nodeOptions } = options
  return new Cluster(address.nodes, {
    ...(retryStrategy && { clusterRetryStrategy: retryStrategy }),
    ...(enableOfflineQueue !== undefined && { enableOfflineQueue }),
    // A certificate is for the name that a node calls itself, so it is not looked up.
    ...(address.tls && { dnsLookup: (host, done) => done(null, host) }),
    redisOptions: { ...nodeOptions, ...toCredentials(address), ...(address.tls && { tls: {} }) },
  })
}

function connectThroughSentinels(address: RedisAddress & { kind: 'sentinel' }, options: Options): Redis {
  return new Redis({
    ...options,
    ...toCredentials(address),
    sentinels: address.sentinels,
    name: address.master,
    db: address.database,
    sentinelRetryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
    sentinelCommandTimeout: 2_000,
    // A master that hangs is left, and the sentinels asked again: no command, not even one that waits for a job, takes as
    // long. ioredis's own failoverDetector would be quicker, but gives up for good when it fires during a reconnect.
    socketTimeout: 15_000,
    ...(address.sentinelPassword !== undefined && { sentinelPassword: address.sentinelPassword }),
    ...(address.tls && { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }),
  })
}

function toCredentials({ username, password }: { username?: string; password?: string }) {
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) }
}
