/** Tables of the guides that are generated from the routes. */
import type { FastifyInstance, RouteOptions } from 'fastify'
import { isWithheld, toRequiredRight } from '@rapport/core/auth/rights/rights.ts'
import { requiredRole } from '../http/required-role.ts'

/** The routes of the OpenAPI document, in the order in which they are registered after this call. */
export function collectRoutes(app: FastifyInstance): readonly RouteOptions[] {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    if (route.schema && !route.schema.hide && route.method !== 'HEAD') routes.push(route)
  })
  return routes
}

export const toOperation = ({ method, url }: RouteOptions) =>
  `\`${String(method)} ${url.replaceAll(/:(\w+)/g, '{$1}')}\``

export function toRole(route: RouteOptions): string {
  const isSecured = route.schema?.security?.some((scheme) => 'bearer' in scheme)
  return isSecured ? requiredRole(route) : '–'
}

/** What `rights` of an API key must include. */
function toRight(route: RouteOptions): string {
  if (toRole(route) === '–') return '–'
  const operationId = route.schema?.operationId ?? ''
  const right = toRequiredRight(operationId)
  return right === undefined ? (isWithheld(operationId) ? 'none' : 'always') : `\`${right}\``
}

/** Every operation, with the role and the right that it requires. */
export function toRoleTable(routes: readonly RouteOptions[]): string {
  const rows = routes.map(
    (route) => `| ${toOperation(route)} | ${route.schema?.summary} | ${toRole(route)} | ${toRight(route)} |`,
  )
  return ['| Operation | Summary | Role | Right |', '|---|---|---|---|', ...rows].join('\n')
}

/** The operations with a limit of their own. */
export function toLimitTable(routes: readonly RouteOptions[]): string {
  const rows = routes.flatMap((route) => {
    const limit = route.config?.rateLimit
    if (limit === undefined) return []
    if (limit === false) return [`| ${toOperation(route)} | none |`]
    return limit.max === undefined ? [] : [`| ${toOperation(route)} | ${String(limit.max)} |`]
  })
  return ['| Operation | Requests per minute |', '|---|---|', ...rows].join('\n')
}
