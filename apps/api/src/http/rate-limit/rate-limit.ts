import rateLimit from '@fastify/rate-limit'
import { createNetworkCheck, normalizeClientIp } from '@rapport/core/kernel/client-ip.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { createRateLimitStore } from './rate-limit-store.ts'

/** Default requests per client, endpoint and window. A route can set another limit in `config.rateLimit`. */
export const defaultMax = 100
const windowMs = 60_000

interface Options {
  redis: RedisClient | undefined
  /** The networks whose requests are not counted. */
  exempt?: string[]
  /** How often a Redis that is unavailable is probed. */
  probeMs: number
}

/**
 * Limits each route registered after it separately. A route sets its limit with `config: { rateLimit: { max } }`;
 * `rateLimit: false` means no limit. Requests count before authentication and validation, so that failed ones count.
 */
export const rateLimits = fp(
  async (app: FastifyInstance, { redis, exempt = [], probeMs }: Options) => {
    const isExempt = createNetworkCheck(exempt)
    // Routes without rate-limit options would share one count. This hook runs before the plugin's own.
    app.addHook('onRoute', (route) => {
      route.config = { ...route.config, rateLimit: route.config?.rateLimit ?? {} }
    })
    await app.register(rateLimit, {
      max: defaultMax,
      timeWindow: windowMs,
      store: createRateLimitStore({ redis, probeMs }),
      keyGenerator: clientKeyOf,
      ...(exempt.length > 0 && { allowList: ({ baseCtx }: FastifyRequest) => isExempt(baseCtx.address ?? '') }),
      errorResponseBuilder: () => app.httpErrors.tooManyRequests(),
    })
  },
  { name: 'rate-limits', dependencies: ['@fastify/sensible', 'error-handler', 'request-context'] },
)

/** An invalid address from a trusted proxy counts as the proxy: arbitrary text must not get a count of its own. */
export function clientKeyOf({ baseCtx, socket }: FastifyRequest): string {
  return normalizeClientIp(baseCtx.address ?? '') ?? socket.remoteAddress ?? ''
}
