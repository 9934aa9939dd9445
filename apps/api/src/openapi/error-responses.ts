/** The error responses of a route in the OpenAPI document. Most of them follow from the route's options. */
import { isAlwaysAllowed } from '@rapport/core/auth/rights/rights.ts'
import type { RouteOptions } from 'fastify'
import { z } from 'zod'
import { ErrorBody } from '../http/error-handler.ts'
import { isReading, requiredRole } from '../http/required-role.ts'
import { errorPageResponse } from '../pages/document.ts'
import { isWrappedBy } from '../http/handlers/wrap-handler.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Additional error statuses, which do not follow from the other options of the route. */
    errorStatuses?: readonly number[]
  }
}

/** Adds the error responses to those of the route. A response that the route declares itself takes precedence. */
export function withErrorResponses(route: RouteOptions): Record<string, unknown> {
  const isPage = route.schema?.tags?.includes('Hosted pages')
  const errorResponses = findErrorStatuses(route).map((status): [string, unknown] => [
    String(status),
    isPage && (status === 429 || status === 503) ? errorPageResponse : ErrorBody,
  ])
  const notModified = route.config?.etag === true && { 304: z.null().describe('Not modified') }
  return { ...Object.fromEntries(errorResponses), ...notModified, ...(route.schema?.response as object) }
}

/** By the role or the rights of the credential, or because a suspended workspace can only be read. */
function mayBeForbidden(route: RouteOptions): boolean {
  const { method, config, schema } = route
  if (!schema?.security?.some((scheme) => 'bearer' in scheme)) return false
  const isWriting = !isReading(method) && !config?.worksWhenSuspended
  return isWriting || requiredRole(route) !== 'VIEWER' || !isAlwaysAllowed(schema.operationId ?? '')
}

function findErrorStatuses(route: RouteOptions): number[] {
  const { method, config, schema = {} } = route
  const { rateLimit, errorStatuses = [] } = config ?? {}
  const isSecured = schema.security !== undefined
  return [
    // At least for an unknown query parameter.
    400,
    ...(isSecured ? [401] : []),
    ...(mayBeForbidden(route) ? [403] : []),
    ...(schema.params === undefined ? [] : [404]),
    ...(isWrappedBy('ifMatch', route) ? [412] : []),
    // A body that is sent too slowly, is too large or has another content type.
    ...(isReading(method) ? [] : [408, 413, 415]),
    ...(isWrappedBy('idempotent', route) ? [409, 422] : []),
    ...(rateLimit === false ? [] : [429]),
    500,
    503,
    ...errorStatuses,
  ]
}
