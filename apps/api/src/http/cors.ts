import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Overrides the options of @fastify/cors for one route. */
    cors?: FastifyCorsOptions | false
  }
}

/** The response headers that scripts of another origin may read. Request headers need no list: any is allowed. */
const exposedHeaders = [
  'x-request-id',
  'etag',
  'location',
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'idempotent-replayed',
  'matched-by',
].join(', ')
const anyOrigin = { origin: '*', methods: 'GET, HEAD, POST', exposedHeaders }

/** Allows any origin on the routes below `/public/`, and the configured origins on every route. No cookies. */
export const crossOrigin = fp(
  async (app: FastifyInstance, { origins }: { origins: string[] }) => {
    app.addHook('onRoute', (route) => {
      if (route.url.startsWith('/public/')) route.config = { ...route.config, cors: anyOrigin }
    })
    await app.register(cors, {
      origin: origins.length > 0 ? origins : false,
      methods: 'GET, HEAD, POST, PUT, PATCH, DELETE',
      exposedHeaders,
      maxAge: 86_400,
      strictPreflight: false,
    })
    // Preflight requests need a route with the CORS options above; the plugin's own route `*` does not have them.
    app.options('/public/*', { schema: { hide: true } }, (_request, reply) => reply.send())
  },
  // The rate limits must be registered first, so that they cover the plugin's OPTIONS route.
  { name: 'cross-origin', dependencies: ['request-context', 'rate-limits'] },
)
