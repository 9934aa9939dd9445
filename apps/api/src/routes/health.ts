import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '@rapport/core/db.ts'
import { hasPendingMigrations } from '@rapport/core/migrate.ts'
import type { RedisClient } from '@rapport/core/redis.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { probeRedis } from '../redis.ts'
import { NoQuery } from './shapes.ts'

const Readiness = z.object({
  status: z.enum(['ready', 'degraded', 'unavailable']),
  parts: z.object({
    database: z.enum(['up', 'down', 'migrations pending']),
    redis: z.enum(['up', 'down', 'not used']),
    server: z.enum(['up', 'shutting down']),
  }),
})

/** Whether the process runs, and whether it can work. Not limited: load balancers ask often. */
export function healthRoutes({ database, redis }: { database: Database; redis: RedisClient | undefined }) {
  const routes: FastifyPluginAsyncZod = async (app) => {
    let closing = false
    app.addHook('preClose', async () => {
      closing = true
    })

    app.get(
      '/health',
      {
        config: { rateLimit: false },
        schema: {
          tags: ['Operators'],
          summary: 'Whether the process runs',
          querystring: NoQuery,
          response: { 200: z.object({ status: z.literal('ok') }) },
        },
      },
      async () => ({ status: 'ok' as const }),
    )

    app.get(
      '/ready',
      {
        config: { rateLimit: false },
        schema: {
          tags: ['Operators'],
          summary: 'Whether the process can work',
          description:
            'With Redis away it is `degraded`, and still 200: work is accepted and follows when Redis is back.',
          querystring: NoQuery,
          response: { 200: Readiness, 503: Readiness },
        },
      },
      async (_request, reply) => {
        const parts = {
          database: await stateOfDatabase(database),
          redis: await stateOfRedis(redis),
          server: closing ? ('shutting down' as const) : ('up' as const),
        }
        if (parts.database !== 'up' || closing) {
          reply.code(503)
          return { status: 'unavailable' as const, parts }
        }
        return { status: parts.redis === 'down' ? ('degraded' as const) : ('ready' as const), parts }
      },
    )
  }
  return routes
}

const patienceMs = 2_000

/** A server that hangs is as good as away, and whoever asks may not wait for it. */
async function stateOfDatabase({ db }: Database) {
  const patience = new AbortController()
  const late = sleep(patienceMs, 'down' as const, { signal: patience.signal, ref: false })
  const answer = hasPendingMigrations(db).then(
    (pending) => (pending ? ('migrations pending' as const) : ('up' as const)),
    () => 'down' as const,
  )
  return Promise.race([answer, late]).finally(() => patience.abort())
}

async function stateOfRedis(redis: RedisClient | undefined) {
  if (!redis) return 'not used' as const
  return probeRedis(redis).then(
    () => 'up' as const,
    () => 'down' as const,
  )
}
