import { clientOf } from '@rapport/core/client-address.ts'
import type { RedisClient } from '@rapport/core/redis.ts'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { createClientWindows } from './client-windows.ts'
import { RateLimited } from './error-handler.ts'
import { limitTag, probeRedis } from './redis.ts'
import { hooksOf } from './route-hooks.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** So many requests of a client in sixty seconds; a hundred when left out, without end when false. */
    rateLimit?: { max: number } | false
  }
}

const windowMs = 60_000
const defaultLimit = 100

interface Count {
  current: number
  /** Until the window ends, in milliseconds. */
  ttl: number
}

/**
 * Counts one more request under a key that so many may come under. With callbacks, here and below: every request comes
 * through, and most in the same turn.
 */
type Counter = (key: string, max: number, done: (count: Count) => void) => void

/**
 * Counts requests for each client address (IPv6 by /64) and endpoint, in windows of sixty seconds that open with the
 * client's first request; before authentication and validation, so that wrong guesses count too. Call it before any
 * route. Answers the hook that counts what has no route, all of it as one.
 */
export function limitRequests(app: FastifyInstance, redis: RedisClient | undefined): onRequestHookHandler {
  const count = createCounter(redis)
  app.addHook('onRoute', (route) => {
    const { rateLimit = { max: defaultLimit } } = route.config ?? {}
    if (rateLimit === false) return
    const limit = limiter(count, `${String(route.method)} ${route.url}`, rateLimit.max)
    route.onRequest = [...hooksOf(route.onRequest), limit]
  })
  return limiter(count, 'unknown', defaultLimit)
}

function limiter(count: Counter, endpoint: string, max: number): onRequestHookHandler {
  const prefix = `${limitTag}:${endpoint} `
  return (request, reply, done) => {
    count(prefix + clientKeyOf(request), max, ({ current, ttl }) => {
      const seconds = Math.ceil(ttl / 1_000)
      reply
        .header('x-ratelimit-limit', max)
        .header('x-ratelimit-remaining', Math.max(0, max - current))
        .header('x-ratelimit-reset', seconds)
      if (current <= max) return done()
      reply.header('retry-after', seconds)
      done(new RateLimited())
    })
  }
}

/** What a trusted proxy says that is no address is one client, or each new word would be a new one. */
function clientKeyOf({ baseCtx, socket }: FastifyRequest): string {
  return clientOf(baseCtx.address ?? '') ?? socket.remoteAddress ?? ''
}

const incrementScript = `
local counts = {}
for _, key in ipairs(KEYS) do
  local current = redis.call('INCR', key)
  local ttl = redis.call('PTTL', key)
  if ttl < 0 then
    redis.call('PEXPIRE', key, ARGV[1])
    ttl = tonumber(ARGV[1])
  end
  counts[#counts + 1] = current
  counts[#counts + 1] = ttl
end
-- As text: numbers one by one are costly to read.
return cjson.encode(counts)`

/** Answers two numbers for each key, as JSON: how many, and how long still. */
type CountThere = (...keyCountKeysAndWindow: (string | number)[]) => Promise<string>

interface Waiting {
  key: string
  /** Without a count when Redis does not answer. */
  done: (count?: Count) => void
}

/** Counts in Redis. Those who come at once, while one turn of the event loop lasts, go there as one command. */
function createSharedCounter(redis: RedisClient): (key: string, done: Waiting['done']) => void {
  redis.defineCommand('rapportCount', { lua: incrementScript })
  const countThere: CountThere = (redis as RedisClient & { rapportCount: CountThere }).rapportCount.bind(redis)
  let waiting: Waiting[] = []

  function countAll() {
    const all = waiting
    waiting = []
    countThere(all.length, ...all.map(({ key }) => key), windowMs).then(
      (answer) => {
        const counts = JSON.parse(answer) as number[]
        all.forEach(({ done }, index) => done({ current: counts[2 * index] ?? 0, ttl: counts[2 * index + 1] ?? 0 }))
      },
      () => all.forEach(({ done }) => done()),
    )
  }

  return (key, done) => {
    if (waiting.push({ key, done }) === 1) setImmediate(countAll)
  }
}

const probeAfterMs = 1_000

/**
 * Counts in Redis, so that several processes share one count, and remembers in this process who has used more than
 * half. When Redis fails or does not answer, this process goes on from what it last knew, at once and for all requests,
 * and asks in the background whether Redis is back: never no limit, never a wait for each request, never an error.
 * Whoever had used less starts anew: with each process counting by itself that changes little, and to remember everyone
 * would be most of what a counted request costs this process.
 */
function createCounter(redis: RedisClient | undefined): Counter {
  const windowOf = createClientWindows()
  if (!redis) return (key, _max, done) => done(countHere(key))
  const countShared = createSharedCounter(redis)
  let isAway = false
  /** For one window after an outage Redis does not know what was counted here meanwhile. */
  let distrustUntil = 0

  function countHere(key: string): Count {
    const now = Date.now()
    const window = windowOf(key)
    if (window.endsAt <= now) {
      window.current = 0
      window.endsAt = now + windowMs
    }
    window.current += 1
    return { current: window.current, ttl: window.endsAt - now }
  }

  function followAlong(key: string, max: number, count: Count): Count {
    const { current, ttl } = count
    if (Date.now() < distrustUntil) {
      const here = countHere(key)
      if (here.current > current) return here
    }
    if (current <= max / 2) return count
    const window = windowOf(key)
    window.current = current
    window.endsAt = Date.now() + ttl
    return count
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

  return (key, max, done) => {
    if (isAway) return done(countHere(key))
    countShared(key, (shared) => {
      if (shared) return done(followAlong(key, max, shared))
      if (!isAway) {
        isAway = true
        probe(redis)
      }
      done(countHere(key))
    })
  }
}
