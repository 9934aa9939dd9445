/**
 * The store of @fastify/rate-limit. Counts in Redis, shared by all API processes; while Redis is unavailable, each
 * process counts for itself.
 */
import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import { LRUCache } from 'lru-cache'
import { limitTag, probeRedis } from './redis-connection.ts'
import { type Count, type Counter, createRedisCounter, type Hit } from './redis-counter.ts'

/** Creates the store class. The plugin makes one instance, and from it a child for each route. */
export function createRateLimitStore({
  redis,
  probeMs,
}: {
  redis: RedisClient | undefined
  probeMs: number
}): FastifyRateLimitStoreCtor {
  const count = redis ? createSharedCounter(redis, probeMs) : createLocalCounter().count

  return class RateLimitStore implements FastifyRateLimitStore {
    readonly #prefix: string

    /** Requests without a route share the count of the endpoint `unknown`. */
    constructor(_options: object, endpoint = 'unknown') {
      this.#prefix = `${limitTag}:${endpoint} `
    }

    incr(...[client, callback, windowMs]: Parameters<FastifyRateLimitStore['incr']>) {
      count({ key: this.#prefix + client, windowMs }).then((result) => callback(null, result), callback)
    }

    /** In order with `incr`: the result includes every hit of this process that came before. */
    read(...[client, callback, windowMs]: Parameters<FastifyRateLimitStore['incr']>) {
      count({ key: this.#prefix + client, windowMs, isRead: true }).then((result) => callback(null, result), callback)
    }

    child(options: object) {
      // The plugin documents `routeInfo`; its types leave it out.
      const { routeInfo } = options as { routeInfo: { method?: string | string[]; url?: string } }
      if (routeInfo.url === undefined) return new RateLimitStore(options)
      // Fastify makes a HEAD route of each GET route: both are one endpoint.
      const method = routeInfo.method === 'HEAD' ? 'GET' : String(routeInfo.method)
      return new RateLimitStore(options, `${method} ${routeInfo.url}`)
    }
  }
}

export const localWindowsKept = 50_000

/** Counts in this process, for the most recent clients. */
function createLocalCounter() {
  const windows = new LRUCache<string, { current: number; endsAt: number }>({ max: localWindowsKept })

  function increment({ key, windowMs, isRead }: Hit): Count {
    const now = Date.now()
    let window = windows.get(key)
    if (!window || window.endsAt <= now) {
      if (isRead) return { current: 0, ttl: 0 }
      window = { current: 0, endsAt: now + windowMs }
      windows.set(key, window)
    }
    if (!isRead) window.current += 1
    return { current: window.current, ttl: window.endsAt - now }
  }

  return {
    increment,
    count: (async (hit) => increment(hit)) satisfies Counter,
    remember: ({ key }: Hit, { current, ttl }: Count) => void windows.set(key, { current, endsAt: Date.now() + ttl }),
  }
}

/**
 * Counts in Redis, and keeps a copy of the counts in this process. When Redis fails or does not respond, this process
 * immediately continues from its copy, and probes Redis every `probeMs` in the background.
 */
function createSharedCounter(redis: RedisClient, probeMs: number): Counter {
  const local = createLocalCounter()
  let isUnavailable = false
  let recoveredAt = Number.NEGATIVE_INFINITY
  const countInRedis = createRedisCounter(redis, { isUnavailable: () => isUnavailable })

  function merge(hit: Hit, shared: Count): Count {
    // For one window after an outage, Redis lacks the requests counted during the outage.
    if (Date.now() < recoveredAt + hit.windowMs) {
      const own = local.increment(hit)
      if (own.current > shared.current) return own
    }
    local.remember(hit, shared)
    return shared
  }

  function probe() {
    setTimeout(() => {
      probeRedis(redis).then(() => {
        recoveredAt = Date.now()
        isUnavailable = false
      }, probe)
    }, probeMs).unref()
  }

  return async (hit) => {
    if (isUnavailable) return local.increment(hit)
    const shared = await countInRedis(hit).catch(() => undefined)
    if (shared) return merge(hit, shared)
    if (!isUnavailable) {
      isUnavailable = true
      probe()
    }
    return local.increment(hit)
  }
}
