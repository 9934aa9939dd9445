import type { Database } from '@rapport/core/db/client.ts'
import { watchClock } from '@rapport/core/db/clock-offset.ts'
import { type Readiness, readReadiness } from '@rapport/core/db/readiness.ts'
import { errorLogger } from '@rapport/core/runtime/logging.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { probeRedis } from './rate-limit/redis-connection.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Reads the state of the database, Redis and the server within three seconds. */
    readReadiness: () => Promise<Readiness>
  }
}

interface Options {
  database: Database
  redis: RedisClient | undefined
  /** Aborted at shutdown, before the server stops listening. */
  stopping?: AbortSignal | undefined
  /** The clock of the process, in milliseconds since 1970. */
  now?: (() => number) | undefined
  /** The timeout of each check. */
  timeoutMs: number
}

/** Decorates the app with `readReadiness`, for `/ready` and the home page. */
export const readiness = fp(
  async (app: FastifyInstance, { database, redis, stopping, now, timeoutMs }: Options) => {
    let closing = false
    const onDown = errorLogger(app.log, 'PostgreSQL unavailable; retrying')
    const clock = watchClock({ db: database.db, log: app.log, now, timeoutMs })
    app.addHook('onListen', async () => clock.start())
    app.addHook('preClose', async () => {
      closing = true
      clock.stop()
    })
    app.decorate('readReadiness', () =>
      readReadiness({
        db: database.db,
        pingRedis: redis && (() => probeRedis(redis)),
        readClock: () => clock.read(),
        timeoutMs,
        onDown,
        isStopping: closing || stopping?.aborted === true,
      }),
    )
  },
  { name: 'readiness' },
)
