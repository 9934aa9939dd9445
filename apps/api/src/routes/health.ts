import type { Database } from '@rapport/core/db/client.ts'
import { watchClock } from '@rapport/core/db/clock-offset.ts'
import { Readiness, readReadiness } from '@rapport/core/db/readiness.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import { version } from '@rapport/core/runtime/version.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { probeRedis } from '../http/rate-limit/redis-connection.ts'
import { NoQuery } from './shapes.ts'

interface Dependencies {
  database: Database
  redis: RedisClient | undefined
  /** Aborted at shutdown, before the server stops listening. */
  stopping?: AbortSignal | undefined
  /** The clock of the process, in milliseconds since 1970. */
  now?: (() => number) | undefined
}

const Health = z
  .object({
    status: z.literal('ok').describe('Always `ok`.'),
    version: z.string().describe('The version of Rapport.'),
  })
  .meta({ id: 'Health', description: 'The process runs.' })

/** The health and readiness routes. They have no rate limit, because load balancers poll them often. */
export function healthRoutes({ database, redis, stopping, now }: Dependencies) {
  const routes: FastifyPluginAsyncZod = async (app) => {
    let closing = false
    const clock = watchClock({ db: database.db, log: app.log, now })
    app.addHook('onListen', async () => clock.start())
    app.addHook('preClose', async () => {
      closing = true
      clock.stop()
    })

    app.get(
      '/health',
      {
        config: { rateLimit: false },
        schema: {
          tags: ['Operators'],
          operationId: 'health.get',
          summary: 'Check health',
          description: 'Returns 200 while the process runs.',
          querystring: NoQuery,
          response: { 200: Health },
        },
      },
      async () => ({ status: 'ok' as const, version }),
    )

    app.get(
      '/ready',
      {
        config: { rateLimit: false },
        schema: {
          tags: ['Operators'],
          operationId: 'ready.get',
          summary: 'Check readiness',
          description:
            'Returns 503 if the process cannot serve requests; `parts` shows why. While Redis is unavailable, `status` is `degraded` and the response is still 200: requests are accepted, and their background work runs once Redis is available again. ' +
            'If `clock.status` is `off`, the ids and timestamps that this process creates are wrong; this does not affect `status`.',
          querystring: NoQuery,
          response: { 200: Readiness, 503: Readiness },
        },
      },
      async (_request, reply) => {
        const readiness = await readReadiness({
          db: database.db,
          pingRedis: redis && (() => probeRedis(redis)),
          readClock: () => clock.read(),
          isStopping: closing || stopping?.aborted === true,
        })
        if (readiness.status === 'unavailable') reply.code(503)
        return readiness
      },
    )
  }
  return routes
}
