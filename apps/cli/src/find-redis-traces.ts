import type { Redis } from 'ioredis'
import { withRedis } from './doctor/redis.ts'

/** The keys of Redis that name a person, and the number of keys that were read. */
export interface RedisTraces {
  keys: number
  traces: string[]
}

/** Reads every key, on each master of a cluster. `spellings` are in lower case. */
export async function findRedisTraces(url: string, spellings: readonly string[]): Promise<RedisTraces> {
  const ofServers = await withRedis(url, (redis) => searchServer(redis, spellings))
  return {
    keys: ofServers.reduce((sum, { keys }) => sum + keys, 0),
    traces: ofServers.flatMap(({ traces }) => traces).toSorted(),
  }
}

async function searchServer(redis: Redis, spellings: readonly string[]): Promise<RedisTraces> {
  const traces = new Set<string>()
  let count = 0
  for await (const keys of redis.scanStream({ count: 500 }) as AsyncIterable<string[]>) {
    for (const key of keys) {
      count += 1
      const content = `${key}\n${await readKey(redis, key)}`.toLowerCase()
      if (spellings.some((spelling) => content.includes(spelling))) traces.add(key)
    }
  }
  return { keys: count, traces: [...traces] }
}

/** The content of a key of any type that BullMQ or the rate limits use; empty if it expired meanwhile. */
async function readKey(redis: Redis, key: string): Promise<string> {
  const readers: Record<string, () => Promise<unknown>> = {
    string: () => redis.get(key),
    hash: () => redis.hgetall(key),
    list: () => redis.lrange(key, 0, -1),
    set: () => redis.smembers(key),
    zset: () => redis.zrange(key, '0', '-1'),
    stream: () => redis.xrange(key, '-', '+'),
  }
  const content = await readers[await redis.type(key)]?.()
  return JSON.stringify(content ?? '')
}
