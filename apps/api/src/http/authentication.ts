import { type Authenticate, requireRole } from '@rapport/core/auth/authenticate.ts'
import { unauthenticated } from '@rapport/core/kernel/errors.ts'
import { workspaceSuspended } from '@rapport/core/request/suspended-workspace.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { isReading, requiredRole } from './required-role.ts'

/**
 * Requires a workspace credential on every route of the scope. A suspended workspace can only be read. The hook is `preParsing`: it runs after the rate limits
 * (`onRequest`), so that failed attempts count, and before the body is read. It runs again if the body arrived later.
 */
export const authentication = fp(
  async (scope: FastifyInstance, { authenticate }: { authenticate: Authenticate }) => {
    const slowBodies = new WeakSet<FastifyRequest>()

    async function authorize(request: FastifyRequest, token: string) {
      request.ctx = await authenticate(request.baseCtx, token)
      requireRole(request.ctx.actor, requiredRole(request.routeOptions))
      const { method, config } = request.routeOptions
      if (request.ctx.isSuspended && !isReading(method) && !config.worksWhenSuspended) throw workspaceSuspended()
    }

    scope.addHook('preParsing', async (request) => {
      const token = bearerToken(request)
      if (!token) throw unauthenticated()
      await authorize(request, token)
      // A client that sends its body slowly must not keep rights that it loses meanwhile. An injected request has no
      // such property.
      if ('complete' in request.raw && !request.raw.complete) slowBodies.add(request)
    })
    scope.addHook('preValidation', async (request) => {
      if (slowBodies.has(request)) await authorize(request, bearerToken(request) ?? '')
    })
  },
  { name: 'authentication', dependencies: ['request-context', 'rate-limits'] },
)

/** The bearer token of a request (RFC 6750); undefined if there is none. */
export function bearerToken(request: FastifyRequest): string | undefined {
  return /^Bearer ([\w-]{1,200})$/i.exec(request.headers.authorization ?? '')?.[1]
}
