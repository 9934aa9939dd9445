import { createHash } from 'node:crypto'
import { invalidField } from '@rapport/core/errors.ts'
import { type Answer, runIdempotently } from '@rapport/core/idempotency.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { errorBody } from './error-handler.ts'

/**
 * Every POST of this scope takes `Idempotency-Key`: its handler runs in one transaction with the record of its answer,
 * and a repetition gets that answer again with `idempotent-replayed: true`.
 */
export function acceptIdempotencyKeys(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    if (route.method === 'POST') route.handler = idempotent(route.handler)
  })
}

function idempotent(handler: RouteHandlerMethod): RouteHandlerMethod {
  return async function (request, reply) {
    const key = request.headers['idempotency-key']
    if (key === undefined) return handler.call(this, request, reply)
    if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key)) {
      throw invalidField('Idempotency-Key', 'Idempotency-Key: must be 1 to 255 printable ASCII characters')
    }
    const { answer, replayed } = await runIdempotently(
      request.ctx,
      { key, hash: hashOf(request), answerFor: refusalOf },
      async (ctx) => {
        request.ctx = ctx
        const payload: unknown = await handler.call(this, request, reply)
        return answerOf(payload, reply)
      },
    )
    if (replayed) reply.header('idempotent-replayed', 'true')
    if (answer.location) reply.header('location', answer.location)
    reply.code(answer.status)
    if (answer.body === '') return reply.send()
    return reply.type('application/json; charset=utf-8').send(answer.body)
  }
}

/** The request as it was understood: other white space or another order of headers is not another request. */
function hashOf(request: FastifyRequest): string {
  const parts = [request.method, request.url, JSON.stringify(request.body) ?? '']
  return createHash('sha256').update(parts.join('\n')).digest('base64url')
}

function answerOf(payload: unknown, reply: FastifyReply): Answer {
  const location = reply.getHeader('location')
  return {
    status: reply.statusCode,
    location: typeof location === 'string' ? location : null,
    body: payload === undefined || payload === null ? '' : (reply.serialize(payload) as string),
  }
}

function refusalOf(error: unknown): Answer | undefined {
  const body = errorBody(error)
  if (!body || body.statusCode >= 500) return undefined
  return { status: body.statusCode, location: null, body: JSON.stringify(body) }
}
