import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { parseRedisAddress, type RedisAddress } from './redis-address.ts'

/** A server, the current master, or a cluster. Keys of one command must share a hash tag, such as `{rapport:mail}`. */
export type RedisClient = Redis | Cluster

type Options = Pick<
  RedisOptions,
  | 'connectionName'
  | 'enableOfflineQueue'
  | 'maxRetriesPerRequest'
  | 'commandTimeout'
  | 'connectTimeout'
  | 'socketTimeout'
> & {
  /** Always returns a delay: the client never stops reconnecting. */
  retryStrategy?: (attempt: number) => number
}

/** Connects to Redis, with the same options for each connection. */
export function connectRedis(url: string, options: Options): RedisClient {
  const address = parseRedisAddress(url)
  if (!address) throw new Error('Invalid Redis address')
  if (address.kind === 'server') return new Redis(address.url, options)
  return address.kind === 'cluster' ? connectCluster(address, options) : connectThroughSentinels(address, options)
}

function connectCluster(address: RedisAddress & { kind: 'cluster' }, options: Options): Cluster {
  const { retryStrategy, enableOfflineQueue, ...nodeOptions } = options
  return new Cluster(address.nodes, {
    ...(retryStrategy && { clusterRetryStrategy: retryStrategy }),
    ...(enableOfflineQueue !== undefined && { enableOfflineQueue }),
    // Certificates are issued for the announced names of the nodes: do not resolve these to IP addresses.
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
    // Disconnects from a master that hangs and asks the sentinels again. No command blocks for this long.
    // The failoverDetector of ioredis is faster, but stops working if it fires during a reconnect.
    socketTimeout: 15_000,
    ...(address.sentinelPassword !== undefined && { sentinelPassword: address.sentinelPassword }),
    ...(address.tls && { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }),
  })
}

function toCredentials({ username, password }: { username?: string; password?: string }) {
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) }
}
