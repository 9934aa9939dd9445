import { AppError } from '@rapport/core/kernel/errors.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

/**
 * Responds with 404 if no route matches, or 405 if routes of the path have other methods, before the body is read. These requests share one rate limit. Encapsulated, so
 * that its hooks run for unmatched requests only; it inherits the hooks registered before it, not the later ones.
 */
export const unknownRoutes = fp(
  async (scope: FastifyInstance) => {
    scope.addHook('onRequest', scope.rateLimit())
    scope.addHook('onRequest', async (request, reply) => {
      const allowed = scope.findAllowedMethods(request.url.split('?', 1)[0] ?? '')
      if (allowed.length === 0 || allowed.includes(request.method)) return sendNotFound(request, reply)
      const methods = allowed.join(', ')
      reply.header('allow', methods)
      throw new AppError('method_not_allowed', `${request.method} is not allowed here: use ${methods}`)
    })
    // For `reply.callNotFound()`, which skips the hooks above.
    scope.setNotFoundHandler(sendNotFound)
  },
  {
    name: 'unknown-routes',
    encapsulate: true,
    dependencies: [
      '@fastify/sensible',
      'allowed-methods',
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
