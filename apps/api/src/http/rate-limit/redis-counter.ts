/**
 * Kept for speed: hits that arrive while a command is running go to Redis as one command. With one command per hit,
 * `GET /public/forms/{id}` serves 0.67 times the requests per second and needs 1.5 times the CPU time in the API (load
 * of the bench `public-form`, twelve alternating rounds, 2026-11-22). `redis-counter.int.test.ts` shows that the counts
 * are equal.
 */
import { microBatch } from '@rapport/core/kernel/micro-batch.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'

export interface Hit {
  key: string
  windowMs: number
}

export interface Count {
  current: number
  /** Milliseconds until the window ends. */
  ttl: number
}

export type Counter = (hit: Hit) => Promise<Count>

const incrementScript = `
local counts = {}
for index, key in ipairs(KEYS) do
  local current = redis.call('INCR', key)
  local ttl = redis.call('PTTL', key)
  if ttl < 0 then
    ttl = tonumber(ARGV[index])
    redis.call('PEXPIRE', key, ttl)
  end
  counts[#counts + 1] = { current, ttl }
end
return counts`

type Increment = (...countKeysAndWindows: (string | number)[]) => Promise<[current: number, ttl: number][]>

/**
 * Counts in Redis. Rejects when Redis fails, and immediately while `isUnavailable` is true, so that queued hits do not
 * each wait for a timeout.
 */
export function createRedisCounter(redis: RedisClient, { isUnavailable }: { isUnavailable: () => boolean }): Counter {
  redis.defineCommand('rapportCount', { lua: incrementScript })
  const { rapportCount } = redis as RedisClient & { rapportCount: Increment }
  return microBatch(async (hits: Hit[]): Promise<Count[]> => {
    if (isUnavailable()) throw new Error('Redis is unavailable')
    const keys = hits.map(({ key }) => key)
    const windows = hits.map(({ windowMs }) => windowMs)
    const counts = await rapportCount.call(redis, hits.length, ...keys, ...windows)
    return counts.map(([current, ttl]) => ({ current, ttl }))
  })
}
