import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Overrides the options of @fastify/cors for one route. */
    cors?: FastifyCorsOptions | false
  }
}

const anyOrigin = { origin: '*', methods: 'GET, HEAD, POST', exposedHeaders: 'etag, retry-after' }

/** Lets any website call the routes below `/public/`, and the listed origins call every route. Without cookies. */
export const crossOrigin = fp(
  async (app: FastifyInstance, { origins }: { origins: string[] }) => {
    app.addHook('onRoute', (route) => {
      if (route.url.startsWith('/public/')) route.config = { ...route.config, cors: anyOrigin }
    })
    await app.register(cors, {
      origin: origins.length > 0 ? origins : false,
      methods: 'GET, HEAD, POST, PUT, PATCH, DELETE',
      maxAge: 86_400,
      strictPreflight: false,
    })
    // The plugin's hook answers preflight requests here; its own route `*` does not have the options of public routes.
    app.options('/public/*', { schema: { hide: true } }, (_request, reply) => reply.send())
  },
  // The limits must see the plugin's own OPTIONS route.
  { name: 'cross-origin', dependencies: ['request-context', 'rate-limits'] },
)
