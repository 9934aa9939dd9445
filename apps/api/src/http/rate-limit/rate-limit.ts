import rateLimit from '@fastify/rate-limit'
import { normalizeClientIp } from '@rapport/core/kernel/client-ip.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { createRateLimitStore } from './rate-limit-store.ts'

/** Requests per client, endpoint and window, unless `config.rateLimit` of the route says otherwise. */
const defaultMax = 100
const windowMs = 60_000

/**
 * Limits the routes that are registered after it, each by itself. A route sets `config: { rateLimit: { max } }`, or
 * `rateLimit: false` for no limit. Requests count before authentication and validation, so that wrong guesses count too.
 */
export const rateLimits = fp(
  async (app: FastifyInstance, { redis }: { redis: RedisClient | undefined }) => {
    // A route without options of its own would share one count with all others. This hook runs before the plugin's.
    app.addHook('onRoute', (route) => {
      route.config = { ...route.config, rateLimit: route.config?.rateLimit ?? {} }
    })
    await app.register(rateLimit, {
      max: defaultMax,
      timeWindow: windowMs,
      store: createRateLimitStore(redis),
      keyGenerator: clientKeyOf,
      errorResponseBuilder: () => app.httpErrors.tooManyRequests(),
    })
  },
  { name: 'rate-limits', dependencies: ['@fastify/sensible', 'error-handler', 'request-context'] },
)

/** If a trusted proxy forwards an invalid address, the proxy is the client: invalid text must not open a new count each. */
function clientKeyOf({ baseCtx, socket }: FastifyRequest): string {
  return normalizeClientIp(baseCtx.address ?? '') ?? socket.remoteAddress ?? ''
}
