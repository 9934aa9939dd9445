import { AppError, invalidField } from '@rapport/core/kernel/errors.ts'
import type { IdOf, IdPrefix } from '@rapport/core/kernel/ids.ts'
import { inTransaction } from '@rapport/core/request/context.ts'
import { lockRecord } from '@rapport/core/request/lock-record.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { serializerCompiler } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import { computeEntityTag, isNotModified, parseEntityTags } from './entity-tags.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `true` on a GET route that retrieves one record: its response has an `ETag`, PATCH, PUT and DELETE of the same
     * URL take `If-Match`, and every other response with its schema has an `ETag` too. On a route that returns a record
     * with additional fields: the schema of the record.
     */
    etag?: true | z.ZodType
    /**
     * Locks and returns the record that `If-Match` is about, or undefined if there is none. The plugin sets it where
     * GET of the same URL retrieves the record.
     */
    lockForIfMatch?: LockForIfMatch
  }
}

type LockForIfMatch = (this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) => unknown

/**
 * ETags and conditional requests (RFC 9110 §13) for single records. With `If-Match`, a handler runs in a transaction
 * that has locked the record and compared its tag, so that of two concurrent changes only one succeeds. The handler
 * must return its response: the transaction commits before the response is sent.
 */
export const conditionalRequests = fp(
  async (app: FastifyInstance) => {
    /** By URL. */
    const records = new Map<string, RecordRoute>()
    /** By schema of the response: returns the tag of a serialized response. */
    const tagOf = new Map<unknown, (payload: string) => string>()
    const changedUrls = new Set<string>()

    app.addHook('onRoute', (route) => {
      const { method, url, config = {} } = route
      if (config.etag !== undefined) tagOf.set(recordSchema(route), createTagFunction(config.etag))
      if (method === 'HEAD' || !route.schema?.security) return
      if (method !== 'GET') {
        changedUrls.add(url)
        const isOnRecord = method === 'PATCH' || method === 'PUT' || method === 'DELETE'
        const ownRecord = config.lockForIfMatch && { schema: recordSchema(route), lock: config.lockForIfMatch }
        const record = ownRecord ?? (isOnRecord ? records.get(url) : undefined)
        if (record) route.config = { ...config, lockForIfMatch: record.lock }
        route.handler = withIfMatch(route, record)
      } else if (config.etag === true) {
        // Routes that were registered before would reject `If-Match`.
        if (changedUrls.has(url)) throw new Error(`Register GET ${url} before the routes that change the record`)
        records.set(url, { schema: recordSchema(route), lock: lockById(route.handler) })
      }
    })

    app.addHook('onSend', async (request, reply, payload) => {
      const toTag = tagOf.get(responsesOf(request.routeOptions)[reply.statusCode])
      if (!toTag || typeof payload !== 'string') return payload
      const tag = toTag(payload)
      reply.header('etag', tag)
      const isReading = request.method === 'GET' || request.method === 'HEAD'
      if (!isReading || !isNotModified(request.headers['if-none-match'], tag)) return payload
      reply.code(304).removeHeader('content-type')
      // Fastify removes the body of HEAD itself.
      return request.method === 'GET' ? null : payload
    })
  },
  { name: 'conditional-requests', dependencies: ['request-context', 'schema-compilers'] },
)

/** The tag of a record, for a response without the record. */
export function entityTagOf(schema: unknown, record: unknown): string {
  return computeEntityTag(serializerCompiler({ schema: schema as z.ZodType, method: '', url: '' })(record))
}

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

interface RecordRoute {
  schema: unknown
  lock: LockForIfMatch
}

/** A route without a record rejects `If-Match`: to ignore it would overwrite what it protects. */
function withIfMatch({ method, url, handler }: RouteOptions, record: RecordRoute | undefined): RouteHandlerMethod {
  return function (request, reply) {
    const header = request.headers['if-match']
    if (header === undefined) return handler.call(this, request, reply)
    if (!record) throw invalidField('If-Match', `If-Match: is not supported by ${String(method)} ${url}`)
    const tags = parseEntityTags(header)
    if (!tags) throw invalidField('If-Match', 'If-Match: must be "*" or a list of ETags in double quotes')
    const { ctx } = request
    return inTransaction(ctx, async (ctx) => {
      request.ctx = ctx
      const current = await record.lock.call(this, request, reply)
      checkIfMatch(tags, current === undefined ? undefined : entityTagOf(record.schema, current))
      const result: unknown = await handler.call(this, request, reply)
      if (reply.sent) throw new Error('The response was sent before the commit')
      return result
    }).finally(() => (request.ctx = ctx))
  }
}

/** Strong comparison. `current` is undefined if there is no record. */
function checkIfMatch(tags: '*' | string[], current: string | undefined) {
  if (current === undefined) throw new AppError('precondition_failed', 'There is no record for If-Match')
  if (tags === '*' || tags.includes(current)) return
  // A proxy that compresses responses makes tags weak, or adds a suffix such as "-gzip".
  const isChangedByProxy = tags.every((tag) => tag.startsWith('W/') || tag.startsWith(current.slice(0, -1)))
  throw new AppError(
    'precondition_failed',
    isChangedByProxy
      ? 'The ETag is not as the API returned it: a proxy has changed it'
      : 'The record has changed since it was read: read it again',
  )
}

/** Locks the record that the path names, and reads it with the handler of GET. */
function lockById(retrieve: RouteHandlerMethod): LockForIfMatch {
  return async function (request, reply) {
    const ids = Object.values(request.params as Record<string, IdOf<IdPrefix>>)
    await lockRecord(request.ctx, ids.at(-1) ?? request.ctx.workspaceId)
    return retrieve.call(this, request, reply)
  }
}
