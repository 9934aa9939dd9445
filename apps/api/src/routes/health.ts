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
  /** Aborted when the process is to end, before it ceases to listen. */
  stopping?: AbortSignal | undefined
  /** The clock of the process, in milliseconds since 1970. */
  now?: (() => number) | undefined
}

/** Whether the process runs, and whether it can work. Not limited: load balancers ask often. */
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
          summary: 'Whether the process runs',
          querystring: NoQuery,
          response: { 200: z.object({ status: z.literal('ok'), version: z.string() }) },
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
          summary: 'Whether the process can work',
          description:
            'With Redis away it is `degraded`, and still 200: work is accepted and follows when Redis is back. ' +
            'A `clock` that is `off` changes no status: ids and timestamps that this process makes are wrong.',
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
