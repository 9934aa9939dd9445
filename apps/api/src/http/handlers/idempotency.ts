import { isDeepStrictEqual } from 'node:util'
import { AppError, invalidField } from '@rapport/core/kernel/errors.ts'
import { hashText } from '@rapport/core/kernel/values/encode-text.ts'
import { isKnownKey, type RecordedResponse, runIdempotently } from '@rapport/core/request/idempotency.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { toErrorBody, withDocUrl } from '../error-handler.ts'
import { type Handler, wrapHandler } from './wrap-handler.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler of a public route uses `Idempotency-Key` to recognize a repeated request. */
    recognizesRepetition?: boolean
  }
}

/**
 * Supports `Idempotency-Key` on a POST. After validation, the handler runs in the transaction that stores its response:
 * `request.ctx.db` is this transaction. A repeated request gets the stored response with `idempotent-replayed: true`.
 */
export function idempotent<Inner extends Handler>(handler: Inner): Inner {
  return wrapHandler(handler, {
    wrapper: 'idempotent',
    around(request, reply, handle) {
      return commitOnce(request, reply, handle)
    },
  })
}

/**
 * Supports `Idempotency-Key` on a POST that waits for something outside of the database, such as a name server, or for its
 * turn. The handler does that first, without a transaction, so that no connection is held meanwhile, and then writes in
 * `commitOnce`.
 */
export function idempotentAfter<Inner extends Handler>(handler: Inner): Inner {
  return wrapHandler(handler, {
    wrapper: 'idempotent',
    async around(request, reply, handle) {
      const key = readIdempotencyKey(request)
      const isRepetition = key !== undefined && (await isKnownKey(request.ctx, key))
      const work = isRepetition ? () => Promise.reject(responseExpired()) : handle
      // An error before `commitOnce` is recorded too.
      return work().catch((error: unknown) => commitOnce(request, reply, () => Promise.reject(error as Error)))
    },
  })
}

/** Runs `work` in the transaction that stores the response: `request.ctx.db`. Returns what the handler returns. */
export async function commitOnce<Result>(
  request: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<Result>,
): Promise<Result> {
  const respond = await runOnce(request, reply, { hash: () => hashBody(request), work })
  return respond() as Result
}

/** A repetition whose record was purged since it was found. */
export const responseExpired = () =>
  new AppError('unavailable', 'The response for this Idempotency-Key has just expired; try again')

/**
 * Runs `work`, which writes through `request.ctx`. With an `Idempotency-Key`, the work and the stored response are one
 * transaction; a repeated request runs nothing and gets the stored response. Returns a function that sends the response;
 * the handler returns what this function returns.
 */
export async function runOnce(
  request: FastifyRequest,
  reply: FastifyReply,
  { hash, work }: { hash: () => string; work: () => Promise<unknown> },
): Promise<() => unknown> {
  const key = readIdempotencyKey(request)
  if (key === undefined) {
    const result = await work()
    return () => result
  }
  const { ctx } = request
  const { response, replayed } = await runIdempotently(
    ctx,
    { key, hash: hash(), toResponse: (error) => toRecordedError(error, request) },
    async (ctx) => {
      request.ctx = ctx
      return toRecordedResponse(await work(), reply)
    },
  ).finally(() => (request.ctx = ctx))
  return () => {
    if (replayed) reply.header('idempotent-replayed', 'true')
    if (response.location) reply.header('location', response.location)
    reply.code(response.status)
    if (response.body === '') return reply.send()
    return reply.type('application/json; charset=utf-8').send(response.body)
  }
}

/** The idempotency key of a request; undefined if there is none. Throws if the key is invalid. */
export function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  // Node joins repeated headers into one value.
  const keys = request.raw.rawHeaders.filter((text, place) => place % 2 === 0 && /^idempotency-key$/i.test(text))
  if (keys.length > 1) throw invalidField('Idempotency-Key', 'Idempotency-Key: must be sent only once')
  if (typeof key === 'string' && /^[\x20-\x7e]{1,255}$/.test(key)) return key
  throw invalidField('Idempotency-Key', 'Idempotency-Key: must be 1 to 255 printable ASCII characters')
}

export const hashBody = (request: FastifyRequest) =>
  hashRequest(request, JSON.stringify(withoutDefaults(request), sortKeys) ?? '')

/**
 * What was sent, without the fields that could as well be left out. What was parsed has other fields in a release that adds one
 * with a default.
 */
function withoutDefaults({ sentBody, routeOptions: { schema } }: FastifyRequest): unknown {
  if (!(schema?.body instanceof z.ZodObject)) return sentBody
  const { shape } = schema.body
  const defaultOf = (name: string) => (shape[name] instanceof z.ZodDefault ? shape[name].def.defaultValue : undefined)
  const isSaid = ([name, value]: [string, unknown]) =>
    !isDeepStrictEqual(value ?? undefined, defaultOf(name) ?? undefined)
  return Object.fromEntries(Object.entries(sentBody as object).filter(isSaid))
}

/** A replacer for `JSON.stringify`: the order of keys has no meaning, and some clients change it (RFC 8259, 4). */
const sortKeys = (_key: string, value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value

/** Hashes a request: whitespace in the body and the order of keys and headers make no difference. */
export function hashRequest(request: FastifyRequest, body: string): string {
  const parts = [request.method, request.url, body]
  return hashText(parts.join('\n'))
}

function toRecordedResponse(payload: unknown, reply: FastifyReply): RecordedResponse {
  const location = reply.getHeader('location')
  return {
    status: reply.statusCode,
    location: typeof location === 'string' ? location : null,
    body: payload === undefined || payload === null ? '' : (reply.serialize(payload) as string),
  }
}

/** Whether the response tells the client to repeat the request later: the repetition must run. */
const shouldWait = (error: unknown) => error instanceof AppError && error.retryAfterSeconds !== undefined

function toRecordedError(error: unknown, request: FastifyRequest): RecordedResponse | undefined {
  const body = toErrorBody(error)
  if (!body || body.statusCode >= 500 || shouldWait(error)) return undefined
  return { status: body.statusCode, location: null, body: JSON.stringify(withDocUrl(body, request)) }
}
