import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, openDatabase } from '@rapport/core/db/client.ts'
import { warnAboutMissingTimeouts } from '@rapport/core/db/pooler.ts'
import { assertUpgradable } from '@rapport/core/db/migrate.ts'
import { assertSupportedServer } from '@rapport/core/db/server-version.ts'
import { describeStartupError, hasSqlState } from '@rapport/core/db/database-errors.ts'
import { requireSecretKey } from '@rapport/core/installation/key-check.ts'
import type { Keys } from '@rapport/core/kernel/crypto.ts'
import { settingsFrom } from '@rapport/core/request/context.ts'
import { announceReady } from '@rapport/core/runtime/announce-ready.ts'
import { ConfigError, readApiConfig } from '@rapport/core/runtime/config.ts'
import { errorLogger, openLog } from '@rapport/core/runtime/logging.ts'
import { openTracer } from '@rapport/core/runtime/tracing.ts'
import { version } from '@rapport/core/runtime/version.ts'
import { defaultTimings } from './http/server/api-timings.ts'
import { openRedis } from './http/rate-limit/redis-connection.ts'

async function start() {
  const config = readApiConfig()
  const redact = ['req.headers.authorization', 'req.headers.cookie']
  const log = await openLog('rapport-api', { level: config.LOG_LEVEL, redact })
  log.info({ version }, 'starting')
  const warn = (message: string) => (error: Error) => log.warn({ err: error }, message)
  const { keys } = settingsFrom(config)
  const database = openDatabase(config.DATABASE_URL, {
    applicationName: 'rapport api',
    verifyDatabase: (db) => verifyDatabase(db, keys),
    onError: warn('database connection lost'),
  })
  await assertSupportedServer(database.db, warn('PostgreSQL unavailable; retrying'))
  void warnAboutMissingTimeouts(database.db, (message) => log.warn(message))
  const redis = config.REDIS_URL
    ? openRedis(config.REDIS_URL, errorLogger(log, 'Redis unavailable; retrying'))
    : undefined
  // Not before the checks, so that a wrong environment is reported at once: the app is most of a start.
  const { openPublisher } = await import('./queues/publisher.ts')
  const { buildApp } = await import('./app.ts')
  const publisher = openPublisher(config, { db: database.db, log })
  const stopping = new AbortController()
  const tracer = await openTracer('rapport-api', config)
  const app = await buildApp({ config, database, redis, publisher, log, tracer, stopping: stopping.signal })
  async function stop() {
    // A second signal ends the process immediately.
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort()
    log.info('stopping')
    // /ready now fails, but requests are still served: a load balancer has time to stop sending them.
    await sleep(config.SHUTDOWN_DELAY_MS)
    // Otherwise a client that never finishes its request, or never reads its response, would block the shutdown.
    setTimeout(() => app.server.closeAllConnections(), defaultTimings.closeTimeoutMs).unref()
    await app.close()
    await publisher.close()
    await tracer?.close()
    redis?.disconnect()
    await database.close()
    log.info('stopped')
    process.exit(0)
  }
  // Registered before the server listens, so that no signal is missed.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop())
  // Shut down with the parent process. `connected` is undefined without a parent that has an IPC channel.
  process.on('disconnect', () => void stop())
  if ((process as { connected?: boolean }).connected === false) void stop()
  await app.listen({ host: config.HOST, port: config.PORT })
  announceReady(config.NOTIFY_SOCKET, warn('systemd notification failed'))
}

/** On the first connection, as PostgreSQL may be unavailable at the start. No request is served with a wrong key or schema. */
async function verifyDatabase(db: Db, keys: Keys): Promise<boolean> {
  try {
    await assertUpgradable(db)
    await requireSecretKey(db, keys)
    return true
  } catch (error) {
    if (error instanceof ConfigError) exit(error)
    // undefined_table: migrations are pending, and /ready says so.
    if (hasSqlState(error, ['42P01'])) return false
    throw error
  }
}

function exit(error: unknown): never {
  console.error(error instanceof ConfigError ? error.message : describeStartupError(error))
  process.exit(error instanceof ConfigError ? 78 : 1)
}

await start().catch(exit)
