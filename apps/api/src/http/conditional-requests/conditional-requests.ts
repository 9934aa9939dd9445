import { invalidField } from '@rapport/core/kernel/errors.ts'
import type { FastifyInstance, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import type { z } from 'zod'
import { isReading } from '../required-role.ts'
import { isWrappedBy } from '../handlers/wrap-handler.ts'
import { computeEntityTag, entityTagOf, isNotModified } from './entity-tags.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `true` on a GET route that retrieves one record: its response has an `ETag`, and so has every other response with
     * its schema. On a route that returns a record with additional fields: the schema of the record.
     */
    etag?: true | z.ZodType
  }
}

/**
 * Adds the `ETag` to responses, and supports `If-None-Match`. A route supports `If-Match` if `ifMatch(…)` wraps its
 * handler; any other route that changes something rejects it.
 */
export const conditionalRequests = fp(
  async (app: FastifyInstance) => {
    /** By schema of the response: returns the tag of a serialized response. */
    const tagOf = new Map<unknown, (payload: string) => string>()
    /** The routes that change something, and that no `ifMatch(…)` wraps. */
    const unconditional = new Set<string>()

    app.addHook('onRoute', (route) => {
      const { etag } = route.config ?? {}
      if (etag !== undefined) tagOf.set(recordSchema(route), createTagFunction(etag))
      const isChange = route.schema?.security !== undefined && !isReading(route.method)
      if (isChange && !isWrappedBy('ifMatch', route)) unconditional.add(nameOf(route))
    })

    // To ignore the header would overwrite what it protects.
    app.addHook('preHandler', ({ headers, routeOptions }, _reply, done) => {
      if (headers['if-match'] === undefined || !unconditional.has(nameOf(routeOptions))) return done()
      throw invalidField('If-Match', `If-Match: is not supported by ${nameOf(routeOptions)}`)
    })

    app.addHook('onSend', async (request, reply, payload) => {
      const toTag = tagOf.get(responsesOf(request.routeOptions)[reply.statusCode])
      if (!toTag || typeof payload !== 'string') return payload
      const tag = toTag(payload)
      reply.header('etag', tag)
      if (!isReading(request.method) || !isNotModified(request.headers['if-none-match'], tag)) return payload
      reply.code(304).removeHeader('content-type')
      // Fastify removes the body of HEAD itself.
      return request.method === 'GET' ? null : payload
    })
  },
  { name: 'conditional-requests', dependencies: ['request-context', 'schema-compilers'] },
)

const nameOf = ({ method, url }: { method: unknown; url?: string | undefined }) => `${String(method)} ${url}`

function createTagFunction(etag: true | z.ZodType): (payload: string) => string {
  return etag === true ? computeEntityTag : (payload) => entityTagOf(etag, JSON.parse(payload))
}

function responsesOf({ schema }: Pick<RouteOptions, 'schema'>): Record<number, unknown> {
  return (schema?.response ?? {}) as Record<number, unknown>
}

/** The schema of a successful response. */
function recordSchema(route: RouteOptions): unknown {
  const { 200: ok, 201: created } = responsesOf(route)
  return created ?? ok
}
