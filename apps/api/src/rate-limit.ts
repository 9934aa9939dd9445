import { setImmediate } from 'node:timers/promises'
import rateLimit from '@fastify/rate-limit'
import { clientOf } from '@rapport/core/client-address.ts'
import type { RedisClient } from '@rapport/core/redis.ts'
import type { FastifyInstance } from 'fastify'
import { LRUCache } from 'lru-cache'
import { RateLimited } from './error-handler.ts'
import { limitTag, probeRedis } from './redis.ts'

const windowMs = 60_000
export const defaultLimit = 100

interface Count {
  current: number
  /** Until the window ends, in milliseconds. */
  ttl: number
}

/**
 * Counts requests for each client address (IPv6 by /64) and endpoint, in windows of sixty seconds that open with the
 * client's first request; before authentication and validation, so that wrong guesses count too. Register it before any
 * route. Routes say `config.rateLimit: { max }` or `false`; unknown routes share one count.
 */
export async function limitRequests(app: FastifyInstance, redis: RedisClient | undefined): Promise<void> {
  const counter = createCounter(redis)
  app.addHook('onRoute', (route) => {
    route.config = { rateLimit: {}, ...route.config }
  })
  await app.register(rateLimit, {
    max: defaultLimit,
    timeWindow: windowMs,
    errorResponseBuilder: () => new RateLimited(),
    // What a trusted proxy says that is no address is one client, or each new word would be a new one.
    keyGenerator: ({ ip, socket }) => clientOf(ip) ?? socket.remoteAddress ?? '',
    store: storeCountingIn(counter),
  })
}

/** What the plugin wants of a store: a class, and a child for each route. */
function storeCountingIn(count: (key: string) => Promise<Count>) {
  return class Store {
    readonly endpoint: string
    constructor(options: { routeInfo?: { method: string; url: string } }) {
      this.endpoint = options.routeInfo?.url ? `${options.routeInfo.method} ${options.routeInfo.url}` : 'unknown'
    }
    child(options: object) {
      return new Store(options)
    }
    incr(client: string, done: (error: Error | null, result?: Count) => void) {
      count(`${this.endpoint} ${client}`).then((result) => done(null, result), done)
    }
  } as never
}

const incrementScript = `
local counts = {}
for index, key in ipairs(KEYS) do
  local current = redis.call('INCR', key)
  local ttl = redis.call('PTTL', key)
  if ttl < 0 then
    redis.call('PEXPIRE', key, ARGV[1])
    ttl = tonumber(ARGV[1])
  end
  counts[index] = {current, ttl}
end
return counts`

/** Counts in Redis. Those who come at once, while one turn of the event loop lasts, go there as one command. */
function createSharedCounter(redis: RedisClient): (key: string) => Promise<[current: number, ttl: number]> {
  let waiting: string[] = []
  let counting: Promise<[number, number][]>

  async function countAll(): Promise<[number, number][]> {
    await setImmediate()
    const keys = waiting
    waiting = []
    return redis.eval(incrementScript, keys.length, ...keys, windowMs) as Promise<[number, number][]>
  }

  return async (key) => {
    const index = waiting.push(`${limitTag}:${key}`) - 1
    if (index === 0) counting = countAll()
    const counts = await counting
    return counts[index] ?? [0, 0]
  }
}

const probeAfterMs = 1_000

/**
 * Counts in Redis, so that several processes share one count, and follows along in this process. When Redis fails or
 * does not answer, this process goes on from what it last knew, at once and for all requests, and asks in the
 * background whether Redis is back: never no limit, never a wait for each request, never an error.
 */
function createCounter(redis: RedisClient | undefined): (key: string) => Promise<Count> {
  const countShared = redis && createSharedCounter(redis)
  const local = new LRUCache<string, { current: number; endsAt: number }>({ max: 100_000 })
  let isAway = false
  /** For one window after an outage Redis does not know what was counted here meanwhile. */
  let distrustUntil = 0

  function countHere(key: string): Count {
    const now = Date.now()
    const known = local.get(key)
    const window = known && known.endsAt > now ? known : { current: 0, endsAt: now + windowMs }
    window.current += 1
    local.set(key, window)
    return { current: window.current, ttl: window.endsAt - now }
  }

  async function countThere(key: string, countShared: ReturnType<typeof createSharedCounter>): Promise<Count> {
    const [current, ttl] = await countShared(key)
    if (Date.now() < distrustUntil) {
      const here = countHere(key)
      if (here.current > current) return here
    }
    local.set(key, { current, endsAt: Date.now() + ttl })
    return { current, ttl }
  }

  function probe(redis: RedisClient) {
    setTimeout(() => {
      probeRedis(redis).then(
        () => {
          distrustUntil = Date.now() + windowMs
          isAway = false
        },
        () => probe(redis),
      )
    }, probeAfterMs).unref()
  }

  return async (key) => {
    if (!redis || !countShared || isAway) return countHere(key)
    try {
      return await countThere(key, countShared)
    } catch {
      if (!isAway) {
        isAway = true
        probe(redis)
      }
      return countHere(key)
    }
  }
}
