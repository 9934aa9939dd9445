import rateLimit from '@fastify/rate-limit'
import { createNetworkCheck, normalizeClientIp } from '@rapport/core/kernel/client-ip.ts'
import { hashToken } from '@rapport/core/kernel/crypto.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { findToken } from '@rapport/core/kernel/validation.ts'
import type { ContactId, WorkspaceId } from '@rapport/core/kernel/ids.ts'
import type { BaseCtx } from '@rapport/core/request/context.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { createRateLimitStore } from './rate-limit-store.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Opens the token of an email in the query, and throws an `AppError` if it is not valid. Without a `contactId`, the
     * token is shared: it is the same for all recipients of the email.
     */
    openMailToken?: (base: BaseCtx, token: string) => { workspaceId: WorkspaceId; contactId?: ContactId | undefined }
  }
}

/** Default requests per client, endpoint and window. A route can set another limit in `config.rateLimit`. */
export const defaultMax = 100
/** The limit of a token that all recipients share: an office or a mobile network has one address. */
const sharedMax = 1_000
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
    const isExemptAddress = createNetworkCheck(exempt)
    // Routes without rate-limit options would share one count. This hook runs before the plugin's own.
    app.addHook('onRoute', (route) => {
      route.config = { ...route.config, rateLimit: route.config?.rateLimit ?? {} }
    })
    await app.register(rateLimit, {
      max: (request: FastifyRequest) => (hasSharedToken(request) ? sharedMax : defaultMax),
      timeWindow: windowMs,
      store: createRateLimitStore({ redis, probeMs }),
      keyGenerator: limitKeyOf,
      allowList: ({ baseCtx }: FastifyRequest) => isExemptAddress(baseCtx.address ?? ''),
      errorResponseBuilder: () => app.httpErrors.tooManyRequests(),
    })
  },
  { name: 'rate-limits', dependencies: ['@fastify/sensible', 'error-handler', 'request-context'] },
)

/**
 * A valid token of an email counts for itself at each address: mail providers and offices send requests of many people
 * from one address. Without one, or with a token that is not valid, the address counts.
 */
function limitKeyOf(request: FastifyRequest): string {
  const address = clientKeyOf(request)
  const found = findMailToken(request)
  return found ? `${address} ${hashToken(found.token)}` : address
}

const hasSharedToken = (request: FastifyRequest) => findMailToken(request)?.isShared ?? false

interface MailToken {
  token: string
  isShared: boolean
}

/** A token is valid in one spelling only, so that its spellings have one count. */
function findMailToken({ routeOptions, query, baseCtx }: FastifyRequest): MailToken | undefined {
  const { openMailToken } = routeOptions.config
  const text = (query as { token?: unknown }).token
  if (!openMailToken || typeof text !== 'string') return undefined
  const token = findToken(text)
  try {
    return { token, isShared: openMailToken(baseCtx, token).contactId === undefined }
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}

/** An invalid address from a trusted proxy counts as the proxy: arbitrary text must not get a count of its own. */
export function clientKeyOf({ baseCtx, socket }: FastifyRequest): string {
  return normalizeClientIp(baseCtx.address ?? '') ?? socket.remoteAddress ?? ''
}
