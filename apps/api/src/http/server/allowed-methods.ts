import type { FastifyInstance } from 'fastify'
import { escapeRegExp } from '@rapport/core/kernel/values/encode-text.ts'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods that the routes of a path have; empty if there is no route with any method. */
    findAllowedMethods: (path: string) => string[]
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
      const routes = [...methodsByRoute.values()].filter(({ pattern }) => pattern.test(path))
      return [...new Set(routes.flatMap(({ methods }) => [...methods]))].toSorted()
    })
  },
  { name: 'allowed-methods' },
)

function toPattern(url: string): RegExp {
  const segments = url.split('/').map((segment) => (segment.startsWith(':') ? '[^/]+' : escapeRegExp(segment)))
  return new RegExp(`^${segments.join('/')}$`)
}
