/**
 * Kept for speed: hits that arrive while a command is running go to Redis as one command. With one command per hit,
 * `GET /public/forms/{id}` serves 0.67 times the requests per second and needs 1.5 times the CPU time in the API (load
 * of the bench `public-form`, twelve alternating rounds, 2026-11-22). `redis-counter.int.test.ts` shows that the counts
 * are equal.
 */
import { microBatch } from '@rapport/core/kernel/concurrency/micro-batch.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'

export interface Hit {
  key: string
  windowMs: number
  /** Returns the count without counting. */
  isRead?: boolean
}

export interface Count {
  current: number
  /** Milliseconds until the window ends. */
  ttl: number
}

export type Counter = (hit: Hit) => Promise<Count>

/** For each key an argument: the window in milliseconds, or 0 to read the count. */
const countScript = `
local counts = {}
for index, key in ipairs(KEYS) do
  local window = tonumber(ARGV[index])
  local current = window > 0 and redis.call('INCR', key) or tonumber(redis.call('GET', key) or 0)
  local ttl = redis.call('PTTL', key)
  if window > 0 and ttl < 0 then
    ttl = window
    redis.call('PEXPIRE', key, ttl)
  end
  counts[#counts + 1] = { current, math.max(ttl, 0) }
end
return counts`

type CountAll = (...countKeysAndWindows: (string | number)[]) => Promise<[current: number, ttl: number][]>

/**
 * Counts in Redis. Rejects when Redis fails, and immediately while `isUnavailable` is true, so that queued hits do not
 * each wait for a timeout.
 */
export function createRedisCounter(redis: RedisClient, { isUnavailable }: { isUnavailable: () => boolean }): Counter {
  redis.defineCommand('rapportCount', { lua: countScript })
  const { rapportCount } = redis as RedisClient & { rapportCount: CountAll }
  return microBatch(async (hits: Hit[]): Promise<Count[]> => {
    if (isUnavailable()) throw new Error('Redis is unavailable')
    const keys = hits.map(({ key }) => key)
    const windows = hits.map(({ windowMs, isRead }) => (isRead ? 0 : windowMs))
    const counts = await rapportCount.call(redis, hits.length, ...keys, ...windows)
    return counts.map(([current, ttl]) => ({ current, ttl }))
  })
}
