import type { BaseCtx, Ctx, Settings } from '@rapport/core/request/context.ts'
import type { Database } from '@rapport/core/db/client.ts'
import { invalidField } from '@rapport/core/kernel/errors.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyRequest {
    /** The context of routes without a workspace. */
    baseCtx: BaseCtx
    /**
     * Adds the workspace and the actor. Set by the plugin `authentication`, in its scope only. In a handler that
     * `idempotent(…)` or `ifMatch(…)` wraps, its `db` may be the open transaction.
     */
    ctx: Ctx
  }
}

interface Options {
  database: Database
  settings: Settings
  stopping: AbortSignal | undefined
}

/** A page replaces the policy with its own. Everything else loads nothing and is in no frame if a browser shows it. */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
}

/** Sets the context of every request and the common headers of every response. */
export const requestContext = fp(
  async (app: FastifyInstance, { database, settings, stopping }: Options) => {
    app.decorateRequest('baseCtx')
    app.decorateRequest('ctx')
    app.addHook('onRequest', async (request, reply) => {
      reply.headers({ 'x-request-id': request.id, ...securityHeaders })
      if (stopping?.aborted) reply.raw.setHeader('Connection', 'close')
      const { id: requestId, ip: address } = request
      request.baseCtx = { db: database.db, requestId, address, settings }
      const { headers, httpVersion } = request.raw
      if (headers.host === undefined && httpVersion === '1.1') {
        reply.raw.setHeader('Connection', 'close')
        throw invalidField('Host', 'Host: is required')
      }
    })
  },
  { name: 'request-context' },
)
