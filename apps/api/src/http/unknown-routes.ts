import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { methodNotAllowed, pathOf } from './server/allowed-methods.ts'
import { isPublicPath } from './hosts/workspace-hosts.ts'

/**
 * Responds with 404 if no route matches, or 405 if routes of the path have other methods, before the body is read. These requests share one rate limit. Encapsulated, so
 * that its hooks run for unmatched requests only; it inherits the hooks registered before it, not the later ones.
 */
export const unknownRoutes = fp(
  async (scope: FastifyInstance) => {
    scope.addHook('onRequest', scope.rateLimit())
    scope.addHook('onRequest', async (request, reply) => {
      const path = pathOf(request)
      const isForeign = request.baseCtx.pagesHost !== undefined && !isPublicPath(path)
      const allowed = isForeign ? [] : scope.findAllowedMethods(path)
      if (allowed.length === 0 || allowed.includes(request.method)) return sendNotFound(request, reply)
      throw methodNotAllowed(request, reply, allowed)
    })
    // For `reply.callNotFound()`, which skips the hooks above.
    scope.setNotFoundHandler(sendNotFound)

    function sendNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
      return reply.notFound(scope.describeMissingRoute(pathOf(request)))
    }
  },
  {
    name: 'unknown-routes',
    encapsulate: true,
    dependencies: [
      '@fastify/sensible',
      'allowed-methods',
      'request-context',
      'workspace-hosts',
      'tracing',
      'debug-log',
      'rate-limits',
      'cross-origin',
      'metrics',
    ],
  },
)
