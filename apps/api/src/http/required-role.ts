import type { Role } from '@rapport/core/db/schema/index.ts'
import type { RouteOptions } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The lowest role that may call the route. Default: VIEWER for GET and HEAD, MEMBER for other methods. */
    role?: Role
    /** Whether the route works in a suspended workspace too, although it is not a GET. */
    worksWhenSuspended?: boolean
  }
}

/** The lowest role that may call a route with a credential, as authentication checks and OpenAPI shows it. */
export function requiredRole({ method, config }: Pick<RouteOptions, 'method' | 'config'>): Role {
  return config?.role ?? (isReading(method) ? 'VIEWER' : 'MEMBER')
}

export const isReading = (method: RouteOptions['method']): boolean => method === 'GET' || method === 'HEAD'
