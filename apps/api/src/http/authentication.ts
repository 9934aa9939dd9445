import { type Authenticate, requireRole } from '@rapport/core/auth/authenticate.ts'
import { unauthenticated } from '@rapport/core/kernel/errors.ts'
import { workspaceSuspended } from '@rapport/core/request/suspended-workspace.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { isReading, requiredRole } from './required-role.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The client must not keep rights that it loses while the request waits for its body or its turn. */
    mustReauthorize: boolean
    /** Checks the credential again, for a handler that reads the body itself. Replaces `ctx`. */
    reauthorize: () => Promise<void>
  }
}

/**
 * Requires a workspace credential on every route of the scope. A suspended workspace can only be read. The hook is
 * `preParsing`: it runs after the rate limits (`onRequest`), so that failed attempts count, and before the body is
 * read. The credential is checked again if the request then waited.
 */
export const authentication = fp(
  async (scope: FastifyInstance, { authenticate }: { authenticate: Authenticate }) => {
    scope.decorateRequest('mustReauthorize', false)

    async function authorize(request: FastifyRequest, token: string) {
      request.ctx = await authenticate(request.baseCtx, token)
      requireRole(request.ctx.actor, requiredRole(request.routeOptions))
      const { method, config } = request.routeOptions
      if (request.ctx.isSuspended && !isReading(method) && !config.worksWhenSuspended) throw workspaceSuspended()
    }

    scope.decorateRequest('reauthorize', function (this: FastifyRequest) {
      return authorize(this, bearerToken(this) ?? '')
    })

    scope.addHook('preParsing', async (request) => {
      const token = bearerToken(request)
      if (!token) throw unauthenticated()
      await authorize(request, token)
      // An injected request has no such property.
      request.mustReauthorize = 'complete' in request.raw && !request.raw.complete
    })
    scope.addHook('preValidation', async (request) => {
      if (request.mustReauthorize) await request.reauthorize()
    })
  },
  { name: 'authentication', dependencies: ['request-context', 'rate-limits'] },
)

/** The bearer token of a request (RFC 6750); undefined if there is none. */
export function bearerToken(request: FastifyRequest): string | undefined {
  return /^Bearer ([\w-]{1,200})$/i.exec(request.headers.authorization ?? '')?.[1]
}
