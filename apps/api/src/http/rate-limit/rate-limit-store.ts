/**
 * Where @fastify/rate-limit counts: in Redis, shared by all API processes, and in this process while Redis is away.
 * Callbacks rather than promises, as the plugin calls `incr` for every request.
 */
import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import { LRUCache } from 'lru-cache'
import { limitTag, probeRedis } from './redis-connection.ts'

interface Count {
  current: number
  /** Until the window ends, in milliseconds. */
  ttl: number
}

interface Hit {
  key: string
  max: number
  windowMs: number
}

type Counter = (hit: Hit, done: (count: Count) => void) => void

/** Builds the store class for the plugin, which makes one instance, and from it one for each route. */
export function createRateLimitStore(redis: RedisClient | undefined): FastifyRateLimitStoreCtor {
  const count = redis ? createSharedCounter(redis) : createLocalCounter().count

  return class RateLimitStore implements FastifyRateLimitStore {
    readonly #prefix: string

    /** Without an endpoint: requests that match no route share one count. */
    constructor(_options: object, endpoint = 'unknown') {
      this.#prefix = `${limitTag}:${endpoint} `
    }

    incr(...[client, callback, windowMs, max]: Parameters<FastifyRateLimitStore['incr']>) {
      count({ key: this.#prefix + client, max, windowMs }, (result) => callback(null, result))
    }

    child(options: object) {
      // The plugin documents `routeInfo`; its types leave it out.
      const { routeInfo } = options as { routeInfo: { method?: string | string[]; url?: string } }
      const isRoute = routeInfo.url !== undefined
      return new RateLimitStore(options, isRoute ? `${String(routeInfo.method)} ${routeInfo.url}` : undefined)
    }
  }
}

export const localWindowsKept = 50_000

/** Counts in this process, for the clients seen last. */
function createLocalCounter() {
  const windows = new LRUCache<string, { current: number; endsAt: number }>({ max: localWindowsKept })

  function increment({ key, windowMs }: Hit): Count {
    const now = Date.now()
    let window = windows.get(key)
    if (!window || window.endsAt <= now) {
      window = { current: 0, endsAt: now + windowMs }
      windows.set(key, window)
    }
    window.current += 1
    return { current: window.current, ttl: window.endsAt - now }
  }

  return {
    increment,
    count: ((hit, done) => done(increment(hit))) satisfies Counter,
    remember: ({ key }: Hit, { current, ttl }: Count) => void windows.set(key, { current, endsAt: Date.now() + ttl }),
  }
}

const probeAfterMs = 1_000

/**
 * Counts in Redis, and remembers in this process the clients above half of their limit. When Redis fails or does not
 * answer, this process continues from the remembered counts, without waiting, and probes Redis in the background. A client
 * below half starts again at zero: each process counts alone then, so that changes little, and remembering every client
 * would be most of the cost of a counted request.
 */
function createSharedCounter(redis: RedisClient): Counter {
  const countInRedis = createRedisCounter(redis)
  const local = createLocalCounter()
  let isAway = false
  let isBackSince = Number.NEGATIVE_INFINITY

  function merge(hit: Hit, shared: Count): Count {
    // For one window after an outage Redis lacks the counts of the outage.
    if (Date.now() < isBackSince + hit.windowMs) {
      const own = local.increment(hit)
      if (own.current > shared.current) return own
    }
    if (shared.current > hit.max / 2) local.remember(hit, shared)
    return shared
  }

  function probe() {
    setTimeout(() => {
      probeRedis(redis).then(() => {
        isBackSince = Date.now()
        isAway = false
      }, probe)
    }, probeAfterMs).unref()
  }

  return (hit, done) => {
    if (isAway) return done(local.increment(hit))
    countInRedis(hit, (shared) => {
      if (shared) return done(merge(hit, shared))
      if (!isAway) {
        isAway = true
        probe()
      }
      done(local.increment(hit))
    })
  }
}

const incrementScript = `
local counts = {}
for index, key in ipairs(KEYS) do
  local current = redis.call('INCR', key)
  local ttl = redis.call('PTTL', key)
  if ttl < 0 then
    ttl = tonumber(ARGV[index])
    redis.call('PEXPIRE', key, ttl)
  end
  counts[#counts + 1] = current
  counts[#counts + 1] = ttl
end
-- As text: the client reads one string faster than many numbers.
return cjson.encode(counts)`

/** Resolves to JSON: the count and the rest of the window for each key. */
type IncrementAll = (...countKeysAndWindows: (string | number)[]) => Promise<string>

/** Sends the hits of one turn of the event loop to Redis as one command. Calls back without a count if Redis fails. */
function createRedisCounter(redis: RedisClient) {
  redis.defineCommand('rapportCount', { lua: incrementScript })
  const { rapportCount } = redis as RedisClient & { rapportCount: IncrementAll }
  let batch: { hit: Hit; done: (count?: Count) => void }[] = []

  function send() {
    const sent = batch
    batch = []
    const keys = sent.map(({ hit }) => hit.key)
    const windows = sent.map(({ hit }) => hit.windowMs)
    rapportCount.call(redis, sent.length, ...keys, ...windows).then(
      (reply) => {
        const numbers = JSON.parse(reply) as number[]
        sent.forEach(({ done }, index) => done({ current: numbers[2 * index] ?? 0, ttl: numbers[2 * index + 1] ?? 0 }))
      },
      () => sent.forEach(({ done }) => done()),
    )
  }

  return (hit: Hit, done: (count?: Count) => void) => {
    if (batch.push({ hit, done }) === 1) setImmediate(send)
  }
}
