import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '@rapport/core/db/client.ts'
import { warnAboutMissingTimeouts } from '@rapport/core/db/pooler.ts'
import { openReplica } from '@rapport/core/db/read-replica.ts'
import { describeStartupError } from '@rapport/core/kernel/errors.ts'
import { announceReady } from '@rapport/core/runtime/announce-ready.ts'
import { ConfigError, readApiConfig } from '@rapport/core/runtime/config.ts'
import { errorLogger, openLog } from '@rapport/core/runtime/logging.ts'
import { openTracer } from '@rapport/core/runtime/tracing.ts'
import { version } from '@rapport/core/runtime/version.ts'
import { buildApp } from './app.ts'
import { openRedis } from './http/rate-limit/redis-connection.ts'

/** As long as a statement may take: what is under way has been answered by then. */
const closeTimeoutMs = 10_000

async function start() {
  const config = readApiConfig()
  const redact = ['req.headers.authorization', 'req.headers.cookie']
  const log = await openLog('rapport-api', { level: config.LOG_LEVEL, redact })
  log.info({ version }, 'starting')
  const warn = (message: string) => (error: Error) => log.warn({ err: error }, message)
  const database = openDatabase(config.DATABASE_URL, {
    applicationName: 'rapport api',
    onError: warn('a database connection broke'),
  })
  const replica = config.DATABASE_REPLICA_URL
    ? openReplica(config.DATABASE_REPLICA_URL, { primary: database, applicationName: 'rapport api replica', log })
    : undefined
  void warnAboutMissingTimeouts(database.db, (message) => log.warn(message))
  const redis = config.REDIS_URL ? openRedis(config.REDIS_URL, errorLogger(log, 'Redis is away')) : undefined
  const stopping = new AbortController()
  const tracer = await openTracer('rapport-api', config)
  const app = await buildApp({ config, database, replica, redis, log, tracer, stopping: stopping.signal })
  async function stop() {
    // The second signal is from someone who will not wait.
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort()
    log.info('stopping')
    // Not ready any more, but still there: who sends requests here, a balancer for one, has the time to notice.
    await sleep(config.SHUTDOWN_DELAY_MS)
    // A client that never finishes its request, or never reads its answer, would otherwise be waited for without end.
    setTimeout(() => app.server.closeAllConnections(), closeTimeoutMs).unref()
    await app.close()
    await tracer?.close()
    redis?.disconnect()
    await replica?.close()
    await database.close()
    log.info('stopped')
    process.exit(0)
  }
  // Before anybody can know that it listens, and end it.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop())
  // Started by another program that has gone: do not outlive it. Undefined where there never was one.
  process.on('disconnect', () => void stop())
  if ((process as { connected?: boolean }).connected === false) void stop()
  await app.listen({ host: config.HOST, port: config.PORT })
  announceReady(config.NOTIFY_SOCKET, warn('systemd could not be told'))
}

try {
  await start()
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : describeStartupError(error))
  process.exit(error instanceof ConfigError ? 78 : 1)
}
