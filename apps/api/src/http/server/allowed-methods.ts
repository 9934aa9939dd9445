import { AppError } from '@rapport/core/kernel/errors.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { escapeRegExp } from '@rapport/core/kernel/values/encode-text.ts'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods that the routes of a path have; empty if there is no route with any method. */
    findAllowedMethods: (path: string) => string[]
    /** The 404 for a path without a route: it names the path that was meant, if only slashes are wrong. */
    describeMissingRoute: (path: string) => string
  }
}

/** Collects the methods of every path. Must be registered before the routes. Routes with a wildcard are left out. */
export const allowedMethods = fp(
  async (app: FastifyInstance) => {
    const methodsByRoute = new Map<string, { pattern: RegExp; methods: Set<string> }>()
    app.addHook('onRoute', ({ url, method }) => {
      if (url.includes('*')) return
      const route = methodsByRoute.get(url) ?? { pattern: toPattern(url), methods: new Set() }
      methodsByRoute.set(url, route)
      for (const name of [method].flat()) route.methods.add(name)
    })
    app.decorate('findAllowedMethods', (path: string) => {
      const exact = methodsByRoute.get(path)
      const routes = exact ? [exact] : [...methodsByRoute.values()].filter(({ pattern }) => pattern.test(path))
      return [...new Set(routes.flatMap(({ methods }) => [...methods]))].toSorted()
    })
    app.decorate('describeMissingRoute', (path: string) => {
      const meant = path.replace(/^\/+/, '/').replace(/(?<=[^/])\/+$/, '')
      const isMeant = meant !== path && app.findAllowedMethods(meant).length > 0
      return isMeant
        ? `Route not found: use ${meant}, without the slash at the ${path.endsWith('/') ? 'end' : 'start'}`
        : 'Route not found'
    })
    app.addHook('preValidation', (request, reply, done) => {
      if (!request.routeOptions.url?.includes(':')) return done()
      const path = pathOf(request)
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      // `GET /contacts/` matches `/contacts/:id`, as if a contact without an id were missing. A change without an id was
      // not meant for the path of the listing.
      if (isRead && path.endsWith('/')) throw new AppError('not_found', app.describeMissingRoute(path))
      // `GET /contacts/batch` matches `/contacts/:id`, although the path has a route of its own. A path may be a template
      // itself, whose placeholder a client has not filled in.
      if (!path.includes(':') && methodsByRoute.has(path))
        throw methodNotAllowed(request, reply, app.findAllowedMethods(path))
      done()
    })
  },
  { name: 'allowed-methods' },
)

export const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? ''

/** The error for a path that has other methods (RFC 9110 §15.5.6). */
export function methodNotAllowed({ method }: FastifyRequest, reply: FastifyReply, allowed: string[]): AppError {
  const methods = allowed.join(', ')
  reply.header('allow', methods)
  return new AppError('method_not_allowed', `${method} is not allowed here: use ${methods}`)
}

function toPattern(url: string): RegExp {
  const segments = url.split('/').map((segment) => (segment.startsWith(':') ? '[^/]+' : escapeRegExp(segment)))
  return new RegExp(`^${segments.join('/')}$`)
}
