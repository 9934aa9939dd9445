import { type Authenticate, requireRole } from '@rapport/core/auth/authenticate.ts'
import { unauthenticated } from '@rapport/core/kernel/errors.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { requiredRole } from './required-role.ts'

/**
 * Requires a workspace credential on every route of the scope. The hook is `preParsing`: it runs after the rate limits
 * (`onRequest`), so that failed attempts count, and before the body is read.
 */
export const authentication = fp(
  async (scope: FastifyInstance, { authenticate }: { authenticate: Authenticate }) => {
    scope.addHook('preParsing', async (request) => {
      const token = bearerToken(request)
      if (!token) throw unauthenticated()
      request.ctx = await authenticate(request.baseCtx, token)
      requireRole(request.ctx.actor, requiredRole(request.routeOptions))
    })
  },
  { name: 'authentication', dependencies: ['request-context', 'rate-limits'] },
)

/** The bearer token of a request (RFC 6750); undefined if there is none. */
export function bearerToken(request: FastifyRequest): string | undefined {
  return /^Bearer ([\w-]{1,200})$/i.exec(request.headers.authorization ?? '')?.[1]
}
