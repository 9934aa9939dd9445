import { ConfigError, readWorkerConfig } from '@rapport/core/runtime/config.ts'
import { describeStartupError } from '@rapport/core/db/database-errors.ts'
import { announceReady } from '@rapport/core/runtime/announce-ready.ts'
import { openLog } from '@rapport/core/runtime/logging.ts'
import { version } from '@rapport/core/runtime/version.ts'
import { defaultTimings, type WorkerTimings } from './worker-timings.ts'

/** Runs the worker until a signal stops it. Exits with 78 if the environment is invalid. */
export async function runWorker(timings: WorkerTimings = defaultTimings): Promise<void> {
  try {
    await start(timings)
  } catch (error) {
    console.error(error instanceof ConfigError ? error.message : describeStartupError(error))
    process.exit(error instanceof ConfigError ? 78 : 1)
  }
}

async function start(timings: WorkerTimings) {
  const config = readWorkerConfig()
  const log = await openLog('rapport-worker', { level: config.LOG_LEVEL })
  let stopping = false
  async function stop() {
    // A second signal exits immediately.
    if (stopping) process.exit(1)
    stopping = true
    log.info('stopping')
    await (await starting).close()
    log.info('stopped')
    process.exit(0)
  }
  // Registered before the worker starts, so that no signal finds it half started.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop())
  // A worker with an IPC channel to a parent process exits with it. Without a parent, `connected` is undefined.
  process.on('disconnect', () => void stop())

  log.info({ version }, 'starting')
  // Loaded after the configuration was read, so that a wrong one is reported at once.
  const starting = import('../worker.ts').then(({ startWorker }) => startWorker(config, log, { timings }))
  if ((process as { connected?: boolean }).connected === false) void stop()
  await starting
  announceReady(config.NOTIFY_SOCKET, (error) => log.warn({ err: error }, 'systemd notification failed'))
}
