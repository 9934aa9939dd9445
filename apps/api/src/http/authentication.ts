import { type Authenticate, requireRole } from '@rapport/core/auth/authenticate.ts'
import { readBearerToken } from '@rapport/core/request/bearer-token.ts'
import { requireRight } from '@rapport/core/auth/rights/rights.ts'
import { unauthenticated } from '@rapport/core/kernel/errors.ts'
import { workspaceSuspended } from '@rapport/core/request/workspace-state.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { isReading, requiredRole } from './required-role.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Checks the credential, and replaces `ctx`. Called once, except by an upload, which can last minutes. */
    authorize: () => Promise<void>
  }
}

/**
 * Requires a workspace credential on every route of the scope. A suspended workspace can only be read. The hook is
 * `preParsing`: it runs after the rate limits (`onRequest`), so that failed attempts count, and before the body is
 * read. A credential that is revoked while the request then waits remains valid for it.
 */
export const authentication = fp(
  async (scope: FastifyInstance, { authenticate }: { authenticate: Authenticate }) => {
    scope.decorateRequest('authorize', async function (this: FastifyRequest) {
      const token = bearerToken(this)
      if (!token) throw unauthenticated()
      this.ctx = await authenticate(this.baseCtx, token)
      requireRight(this.ctx.actor, this.routeOptions.schema?.operationId ?? '')
      requireRole(this.ctx.actor, requiredRole(this.routeOptions))
      const { method, config } = this.routeOptions
      if (this.ctx.isSuspended && !isReading(method) && !config.worksWhenSuspended) throw workspaceSuspended()
    })
    scope.addHook('preParsing', async (request) => request.authorize())
  },
  { name: 'authentication', dependencies: ['request-context', 'rate-limits'] },
)

/** The bearer token of a request; undefined if there is none. */
export function bearerToken(request: FastifyRequest): string | undefined {
  const token = readBearerToken(request.headers.authorization)
  return /^[\w-]{1,200}$/.test(token) ? token : undefined
}
