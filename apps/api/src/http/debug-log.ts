import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** Logs each response at level `debug`. */
export const debugLog = fp(
  async (app: FastifyInstance) => {
    app.addHook('onResponse', async (request, reply) => {
      // The query is left out: it may contain a secret token.
      const [path] = request.url.split('?', 1)
      const { method, ip } = request
      request.log.debug(
        { method, path, ip, status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
        'request completed',
      )
    })
  },
  { name: 'debug-log' },
)
