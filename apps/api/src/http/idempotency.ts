import { createHash } from 'node:crypto'
import { invalidField } from '@rapport/core/kernel/errors.ts'
import { type RecordedResponse, runIdempotently } from '@rapport/core/request/idempotency.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import fp from 'fastify-plugin'
import { toErrorBody } from './error-handler.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler calls `handleIdempotently` itself, as there is more to do than fits into one transaction. */
    handlesIdempotency?: boolean
  }
}

/**
 * Wraps the handler of each POST in this scope, for `Idempotency-Key`: after validation it runs in the transaction that
 * stores its response, and a repetition gets that response again with `idempotent-replayed: true`.
 */
export const idempotencyKeys = fp(
  async (scope: FastifyInstance) => {
    scope.addHook('onRoute', (route) => {
      if (route.method === 'POST' && !route.config?.handlesIdempotency) route.handler = idempotent(route.handler)
    })
  },
  { name: 'idempotency-keys', dependencies: ['authentication'] },
)

function idempotent(handler: RouteHandlerMethod): RouteHandlerMethod {
  return function (request, reply) {
    const hash = () => hashRequest(request, JSON.stringify(request.body) ?? '')
    return handleIdempotently(request, reply, { hash, work: async () => handler.call(this, request, reply) })
  }
}

/**
 * Does `work`, which writes by `request.ctx`, and answers with what it returns. With an `Idempotency-Key` that is one
 * transaction with the record of the answer; a repetition does nothing and gets that answer again.
 */
export async function handleIdempotently(
  request: FastifyRequest,
  reply: FastifyReply,
  { hash, work }: { hash: () => string; work: () => Promise<unknown> },
): Promise<unknown> {
  const key = readIdempotencyKey(request)
  if (key === undefined) return work()
  const { ctx } = request
  const { response, replayed } = await runIdempotently(
    ctx,
    { key, hash: hash(), toResponse: toRecordedError },
    async (ctx) => {
      request.ctx = ctx
      return toRecordedResponse(await work(), reply)
    },
  ).finally(() => (request.ctx = ctx))
  if (replayed) reply.header('idempotent-replayed', 'true')
  if (response.location) reply.header('location', response.location)
  reply.code(response.status)
  if (response.body === '') return reply.send()
  return reply.type('application/json; charset=utf-8').send(response.body)
}

/** The key of a request, if it has one. Invalid when it is none. */
export function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  // Node joins two into one, that is neither.
  const given = request.raw.rawHeaders.filter((text, place) => place % 2 === 0 && /^idempotency-key$/i.test(text))
  if (given.length > 1) throw invalidField('Idempotency-Key', 'Idempotency-Key: must be given once')
  if (typeof key === 'string' && /^[\x20-\x7e]{1,255}$/.test(key)) return key
  throw invalidField('Idempotency-Key', 'Idempotency-Key: must be 1 to 255 printable ASCII characters')
}

/** The request as it was understood: other white space or another order of headers is not another request. */
export function hashRequest(request: FastifyRequest, body: string): string {
  const parts = [request.method, request.url, body]
  return createHash('sha256').update(parts.join('\n')).digest('base64url')
}

function toRecordedResponse(payload: unknown, reply: FastifyReply): RecordedResponse {
  const location = reply.getHeader('location')
  return {
    status: reply.statusCode,
    location: typeof location === 'string' ? location : null,
    body: payload === undefined || payload === null ? '' : (reply.serialize(payload) as string),
  }
}

function toRecordedError(error: unknown): RecordedResponse | undefined {
  const body = toErrorBody(error)
  if (!body || body.statusCode >= 500) return undefined
  return { status: body.statusCode, location: null, body: JSON.stringify(body) }
}
