import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopRenderingThread } from '@rapport/core/campaigns/templates/rendering.ts'
import { dkimKeyOf, type WorkerConfig } from '@rapport/core/runtime/config.ts'
import { settingsFrom } from '@rapport/core/request/context.ts'
import { openDatabase, poolSize } from '@rapport/core/db/client.ts'
import { watchClock } from '@rapport/core/db/clock-offset.ts'
import { withoutParameters } from '@rapport/core/kernel/errors.ts'
import { limitConcurrency } from '@rapport/core/kernel/limit-concurrency.ts'
import { withTimeout } from '@rapport/core/kernel/with-timeout.ts'
import { openTracer } from '@rapport/core/runtime/tracing.ts'
import { warnAboutMissingTimeouts, isDirectUrlMissing, directUrlOf } from '@rapport/core/db/pooler.ts'
import { type QueueName, queueNames } from '@rapport/core/jobs/queues.ts'
import { recordHeartbeat, deregisterWorker } from '@rapport/core/jobs/worker-registry.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/orphaned-claims.ts'
import type { Job } from 'bullmq'
import type { Logger } from 'pino'
import { createConcurrencyMemory } from './webhook-delivery/concurrency.ts'
import { createFairSlots } from './webhook-delivery/fair-slots.ts'
import { startHeartbeat } from './heartbeat.ts'
import { createJobHandlers, isKnownJob } from './jobs.ts'
import { ensureSchedule, openJobQueues } from './job-queues.ts'
import { createMailRateLimiter } from './smtp/mail-rate-limiter.ts'
import { openMailTransport } from './smtp/mail-transport.ts'
import {
  withMailMetrics,
  createWorkerMetrics,
  registerQueueMetrics,
  type WorkerMetrics,
} from './observability/metrics.ts'
import { openOperatorPort } from './observability/operator-port.ts'
import { openOutboundHttp } from './webhook-delivery/outbound-http.ts'
import { createDrainCooldown } from './webhook-delivery/drain-cooldown.ts'
import { createRequestCapacity, maxRequestsPerWorkspace } from './webhook-delivery/request-capacity.ts'
import { openQueueBackend } from './queue-backend.ts'
import { startRelay } from './relay.ts'
import type { WorkerDeps } from './worker-deps.ts'

/**
 * Starts the worker: the relay, and a BullMQ worker for each queue. `close` takes no new work, lets what is in hand
 * finish, puts the rest back and leaves nothing claimed. `now` is the clock of the process, `Date.now` unless given.
 */
export async function startWorker(
  config: WorkerConfig,
  log: Logger,
  now?: () => number,
): Promise<{ close(): Promise<void> }> {
  const onError = (error: Error) => log.warn({ err: error }, 'a database connection broke')
  const database = openDatabase(config.DATABASE_URL, {
    applicationName: 'rapport worker',
    maxConnections: poolSize,
    onError,
  })
  const { db } = database
  const stopping = new AbortController()
  const metrics = createWorkerMetrics()
  const backend = await openQueueBackend(config, log)
  const queues = openJobQueues(backend, (queue, count) => metrics.published.inc({ queue }, count))
  const deps: WorkerDeps = {
    db,
    settings: settingsFrom(config),
    workerId: randomUUID(),
    mail: withMailMetrics(openMailTransport(config.SMTP_URL, dkimKeyOf(config)), metrics),
    mailRateLimiter: createMailRateLimiter(db, config.MAIL_RATE, stopping.signal),
    http: openOutboundHttp(config.WEBHOOK_ALLOWED_NETWORKS),
    drainSlots: createFairSlots(config.WORKER_CONCURRENCY, maxRequestsPerWorkspace),
    unreachableSlots: createFairSlots(Math.ceil(config.WORKER_CONCURRENCY / 4), maxRequestsPerWorkspace),
    requestCapacity: createRequestCapacity(),
    limitDrainTransactions: limitConcurrency(poolSize - reservedConnections),
    concurrency: createConcurrencyMemory(),
    drainCooldown: createDrainCooldown(),
    // With the queues away, the poll of a relay finds the backlog.
    requeueDrain: (job) => queues.add('webhooks', [job]).catch(() => {}),
    log,
    tracer: await openTracer('rapport-worker', config),
    metrics,
    stopping: stopping.signal,
    activeJobs: new Map(),
  }
  const clock = watchClock({ db, log, now })
  const operatorPortDeps = { database, backend, metrics, stopping: stopping.signal, clock }
  const operatorPort = await openOperatorPort(config, operatorPortDeps).catch(async (error: unknown) => {
    await backend.close()
    throw error
  })
  clock.start()
  await recordHeartbeat(db, deps.workerId)
  const heartbeat = startHeartbeat(deps)
  void warnAboutMissingTimeouts(db, (message) => log.warn(message))
  const listenUrl = (await isDirectUrlMissing(config)) ? undefined : directUrlOf(config)
  if (listenUrl === undefined) log.warn(pollingWarning)
  const { workerId, drainCooldown } = deps
  const relay = startRelay({ database, listenUrl, queues, workerId, drainCooldown, log })
  const schedule = runPeriodically(() => ensureSchedule(queues))
  registerQueueMetrics(metrics.registry, backend, queues.queueOf)
  const handlers = createJobHandlers(deps, config)
  const jobTracker = createJobTracker()
  const workers = queueNames.map((name) => {
    const { handle, concurrency } = handlers[name]
    const measured = withJobMetrics(metrics, name, handle)
    const processJob = async (job: Job) => {
      const data: unknown = job.data
      const onProgress = throttle((progress: object) => void job.updateProgress(progress).catch(() => {}))
      if (isKnownJob(name, data)) return jobTracker.track(measured(data, onProgress))
      log.warn({ queue: name }, 'a job that names no work of ours was left alone')
    }
    return backend.openWorker(name, processJob, { concurrency })
  })
  log.info({ workerId: deps.workerId, queues: backend.name }, 'the worker is ready')

  return {
    async close() {
      stopping.abort()
      clock.stop()
      schedule.stop()
      await relay.close()
      const closed = Promise.allSettled(workers.map((worker) => worker.close()))
      // With the queues away BullMQ waits for them for ever. What matters is recorded in PostgreSQL by then: a job that
      // the queue does not know to be done comes again and finds nothing to do.
      const idleWait = new AbortController()
      const ended = Promise.race([closed, jobTracker.waitUntilIdle(idleMs, idleWait.signal)])
      // With the database away nothing can be recorded, and active jobs become INTERRUPTED.
      await withTimeout(ended, shutdownTimeoutMs).catch(() => {})
      idleWait.abort()
      await heartbeat.stop()
      const onError = (error: unknown) => log.warn({ err: error }, 'could not take leave')
      await deregisterWorker(db, deps.workerId)
        .then(() => recoverOrphanedClaims(db))
        .then(metrics.countInterrupted, onError)
      await stopRenderingThread()
      deps.mail.close()
      await deps.http.close()
      await deps.tracer?.close()
      await operatorPort?.close()
      await queues.close()
      await backend.close()
      await database.close()
    },
  }
}

/** Of the pool, for the heartbeat and for jobs that drain no webhook. */
const reservedConnections = 6

const pollingWarning =
  'DATABASE_URL leads through a connection pooler, where nothing can be listened to: work is found by polling, each ' +
  'second. Set DATABASE_DIRECT_URL to the server itself'

/** How long the queues may take to close when no job is active. */
const idleMs = 2_000
/** How long active jobs may take to record their outcome. */
const shutdownTimeoutMs = 60_000

function createJobTracker() {
  const jobs = new Set<Promise<unknown>>()
  return {
    track<Result>(job: Promise<Result>): Promise<Result> {
      jobs.add(job)
      return job.finally(() => jobs.delete(job))
    },
    /** Resolves when no job has been in hand for so long: one that was just being fetched may still begin. */
    async waitUntilIdle(ms: number, signal: AbortSignal): Promise<void> {
      do {
        while (jobs.size > 0) await Promise.allSettled(jobs)
        await sleep(ms, undefined, { signal }).catch(() => {})
      } while (jobs.size > 0)
    },
  }
}

function withJobMetrics<Args extends unknown[]>(
  { jobSeconds }: WorkerMetrics,
  queue: QueueName,
  handle: (...args: Args) => Promise<unknown>,
) {
  return async (...args: Args) => {
    const startedAt = performance.now()
    const count = (outcome: string) => jobSeconds.observe({ queue, outcome }, (performance.now() - startedAt) / 1_000)
    try {
      const result = await handle(...args)
      count('done')
      return result
    } catch (error) {
      count('failed')
      // The queue keeps the error, and the dashboard shows it.
      throw withoutParameters(error)
    }
  }
}

const scheduleCheckMs = 60_000

/** Repeats what may fail while the queues are away: at once, and then every minute. */
function runPeriodically(work: () => Promise<void>): { stop(): void } {
  const run = () => void work().catch(() => {})
  run()
  const timer = setInterval(run, scheduleCheckMs)
  return { stop: () => clearInterval(timer) }
}

const progressEveryMs = 500

function throttle<Value>(report: (value: Value) => void): (value: Value) => void {
  let reportedAt = performance.now()
  return (value) => {
    if (performance.now() - reportedAt < progressEveryMs) return
    reportedAt = performance.now()
    report(value)
  }
}
