/** What each route may refuse a request with, for its description: most of it follows from what the route is. */
import type { RouteOptions } from 'fastify'
import { ErrorBody } from '../http/error-handler.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Statuses of refusals that do not follow from what the route is. */
    errorStatuses?: readonly number[]
  }
}

/** The responses of a route with its refusals among them. What the route itself says of a status stands. */
export function withErrorResponses(route: RouteOptions): Record<string, unknown> {
  const errorResponses: [string, unknown][] = findErrorStatuses(route).map((status) => [String(status), ErrorBody])
  return { ...Object.fromEntries(errorResponses), ...(route.schema?.response as object) }
}

function findErrorStatuses({ method, config, schema = {} }: RouteOptions): number[] {
  const { role, rateLimit, errorStatuses = [] } = config ?? {}
  const isReading = method === 'GET' || method === 'HEAD'
  const isSecured = schema.security !== undefined
  return [
    // An unknown parameter, at least.
    400,
    ...(isSecured ? [401] : []),
    ...(isSecured && (role ?? (isReading ? 'VIEWER' : 'MEMBER')) !== 'VIEWER' ? [403] : []),
    ...(schema.params === undefined ? [] : [404]),
    // A body that comes too slowly, is too long, or is something else.
    ...(isReading ? [] : [408, 413, 415]),
    // `Idempotency-Key`.
    ...(isSecured && method === 'POST' ? [409, 422] : []),
    ...(rateLimit === false ? [] : [429]),
    500,
    503,
    ...errorStatuses,
  ]
}
