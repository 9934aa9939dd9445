import type { Role } from '@rapport/core/db/schema/index.ts'
import type { RouteOptions } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The lowest role that may call the route. Default: VIEWER for GET and HEAD, MEMBER for other methods. */
    role?: Role
  }
}

/** The lowest role that may call a route with a credential, as authentication checks and OpenAPI shows it. */
export function requiredRole({ method, config }: Pick<RouteOptions, 'method' | 'config'>): Role {
  const isReading = method === 'GET' || method === 'HEAD'
  return config?.role ?? (isReading ? 'VIEWER' : 'MEMBER')
}
