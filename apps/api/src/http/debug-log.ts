import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** Logs a line for each response, on the level `debug`. */
export const debugLog = fp(
  async (app: FastifyInstance) => {
    app.addHook('onResponse', async (request, reply) => {
      // Without the query: it may contain the token of a link.
      const [path] = request.url.split('?', 1)
      const { method, ip } = request
      request.log.debug({ method, path, ip, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'answered')
    })
  },
  { name: 'debug-log' },
)
