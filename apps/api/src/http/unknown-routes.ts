import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

/**
 * Responds with 404 if no route matches, before the body is read. These requests share one rate limit. Encapsulated, so
 * that its hooks run for unmatched requests only; it inherits the hooks registered before it, not the later ones.
 */
export const unknownRoutes = fp(
  async (scope: FastifyInstance) => {
    scope.addHook('onRequest', scope.rateLimit())
    scope.addHook('onRequest', async (request, reply) => sendNotFound(request, reply))
    // For `reply.callNotFound()`, which skips the hooks above.
    scope.setNotFoundHandler(sendNotFound)
  },
  {
    name: 'unknown-routes',
    encapsulate: true,
    dependencies: [
      '@fastify/sensible',
      'request-context',
      'tracing',
      'debug-log',
      'rate-limits',
      'cross-origin',
      'metrics',
    ],
  },
)

function sendNotFound(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.notFound('Route not found')
}
