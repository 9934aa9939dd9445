import { type Authenticate, requireRole } from '@rapport/core/auth/authenticate.ts'
import type { BaseCtx, Ctx } from '@rapport/core/context.ts'
import { AppError } from '@rapport/core/errors.ts'
import type { Role } from '@rapport/core/schema.ts'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler, RouteOptions } from 'fastify'
import { hooksOf } from '../route-hooks.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** For routes that come before any workspace. */
    baseCtx: BaseCtx
    /** On whose behalf; only behind `requireCredential`. */
    ctx: Ctx
  }
  interface FastifyContextConfig {
    /** The least role that may call; otherwise VIEWER reads and MEMBER changes. */
    role?: Role
  }
}

/** From here on in this scope every route needs a credential of a workspace. */
export function requireCredential(scope: FastifyInstance, authenticate: Authenticate): void {
  guardRoutes(scope, (route) => credentialGuard(route, authenticate))
}

/**
 * Puts a guard before every later route of the scope: after the limiter, so that wrong guesses count, and before the
 * body is read. The scope is guarded, not the handler: no route can forget it.
 */
export function guardRoutes(scope: FastifyInstance, guardFor: (route: RouteOptions) => onRequestHookHandler): void {
  scope.addHook('onRoute', (route) => {
    route.onRequest = [...hooksOf(route.onRequest), guardFor(route)]
  })
}

/** The bearer token of a request (RFC 6750); undefined when it carries none. */
export function bearerToken(request: FastifyRequest): string | undefined {
  return /^Bearer ([\w-]{1,200})$/i.exec(request.headers.authorization ?? '')?.[1]
}

function credentialGuard(route: RouteOptions, authenticate: Authenticate) {
  const isReading = route.method === 'GET' || route.method === 'HEAD'
  const role = route.config?.role ?? (isReading ? 'VIEWER' : 'MEMBER')
  return async (request: FastifyRequest) => {
    const token = bearerToken(request)
    if (!token) throw new AppError('unauthenticated', 'Missing or invalid credential')
    request.ctx = await authenticate(request.baseCtx, token)
    requireRole(request.ctx.actor, role)
  }
}
