import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopRenderingThread } from '@rapport/core/campaigns/templates/rendering.ts'
import { dkimKeyOf, type WorkerConfig } from '@rapport/core/runtime/config.ts'
import { retentionFrom } from '@rapport/core/runtime/retention-variables.ts'
import { createQuotaCache } from '@rapport/core/quotas/quota-cache.ts'
import { settingsFrom } from '@rapport/core/request/context.ts'
import { openDatabase, poolSize } from '@rapport/core/db/client.ts'
import { watchClock } from '@rapport/core/db/clock-offset.ts'
import { withoutParameters } from '@rapport/core/kernel/errors.ts'
import { limitConcurrency } from '@rapport/core/kernel/concurrency/limit-concurrency.ts'
import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import { openTracer } from '@rapport/core/runtime/tracing.ts'
import { warnAboutMissingTimeouts, isDirectUrlMissing, directUrlOf } from '@rapport/core/db/pool/pooler.ts'
import { assertSupportedServer } from '@rapport/core/db/server-version.ts'
import { type QueueName, queueNames } from '@rapport/core/work/queues.ts'
import { recordHeartbeat, deregisterWorker } from '@rapport/core/work/worker-registry.ts'
import { requireSecretKey } from '@rapport/core/installation/key-check.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import type { Job } from 'bullmq'
import type { Logger } from 'pino'
import { createUnsignedLog } from './webhook-delivery/attempt-delivery.ts'
import { createConcurrencyMemory } from './webhook-delivery/concurrency.ts'
import { createFairSlots } from '@rapport/core/kernel/concurrency/fair-slots.ts'
import { startHeartbeat } from './heartbeat.ts'
import { createQueueHandlers, isKnownJob } from './jobs.ts'
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
import { createRequestCapacity } from './webhook-delivery/request-capacity.ts'
import { openQueueBackend } from './queue-backend.ts'
import { startRelay } from './relay.ts'
import type { WorkerDeps } from './worker-deps.ts'
import { defaultTimings, type WorkerTimings } from './worker-timings.ts'

/**
 * Starts the worker: the relay, and a BullMQ worker for each queue. `close` stops fetching jobs, waits for active jobs,
 * requeues unfinished work and leaves no claims. `now` is the clock of the process (default: `Date.now`).
 */
export async function startWorker(
  config: WorkerConfig,
  log: Logger,
  { timings = defaultTimings, now }: { timings?: WorkerTimings; now?: (() => number) | undefined } = {},
): Promise<{ close(): Promise<void> }> {
  const onError = (error: Error) => log.warn({ err: error }, 'database connection lost')
  const database = openDatabase(config.DATABASE_URL, {
    applicationName: 'rapport worker',
    maxConnections: poolSize,
    onError,
  })
  const { db } = database
  await assertSupportedServer(db)
  const settings = settingsFrom(config)
  await requireSecretKey(db, settings.keys)
  const stopping = new AbortController()
  const metrics = createWorkerMetrics()
  const backend = await openQueueBackend(config, { log, timings })
  const onAdd = (queue: QueueName, count: number) => metrics.published.inc({ queue }, count)
  const queues = openJobQueues(backend, { timings, onAdd })
  const webhookQuota = createQuotaCache('webhookRequests')
  const deps: WorkerDeps = {
    db,
    settings,
    retention: retentionFrom(config),
    workerId: randomUUID(),
    mail: withMailMetrics(openMailTransport(config.SMTP_URL, dkimKeyOf(config)), metrics),
    mailRateLimiter: createMailRateLimiter(db, config.MAIL_RATE, stopping.signal),
    http: openOutboundHttp(config.WEBHOOK_ALLOWED_NETWORKS, { timings, refusedPorts: config.WEBHOOK_REFUSED_PORTS }),
    webhookQuota,
    drainSlots: createFairSlots(config.WORKER_CONCURRENCY, webhookQuota.peek),
    unreachableSlots: createFairSlots(Math.ceil(config.WORKER_CONCURRENCY / 4), webhookQuota.peek),
    requestCapacity: createRequestCapacity(webhookQuota.peek),
    limitDrainTransactions: limitConcurrency(poolSize - reservedConnections),
    concurrency: createConcurrencyMemory(),
    drainCooldown: createDrainCooldown(timings.drainCooldownMs),
    // While the queues are unavailable, the add fails; the relay's poll finds the backlog later.
    requeueDrain: (job) => queues.add('webhooks', [job]).catch(() => {}),
    log,
    logUnsigned: createUnsignedLog(log),
    tracer: await openTracer('rapport-worker', config),
    metrics,
    timings,
    stopping: stopping.signal,
    liveClaims: new Set(),
  }
  const clock = watchClock({ db, log, now })
  const operatorPortDeps = { database, backend, metrics, stopping: stopping.signal, clock }
  const operatorPort = await openOperatorPort(config, operatorPortDeps).catch(async (error: unknown) => {
    await backend.close()
    await database.close()
    throw error
  })
  clock.start()
  await recordHeartbeat(db, deps.workerId)
  const heartbeat = startHeartbeat(deps)
  void warnAboutMissingTimeouts(db, (message) => log.warn(message))
  const listenUrl = (await isDirectUrlMissing(config)) ? undefined : directUrlOf(config)
  if (listenUrl === undefined) log.warn(pollingWarning)
  const { workerId, drainCooldown } = deps
  const relay = startRelay({ database, listenUrl, queues, workerId, drainCooldown, log, timings })
  const schedule = runPeriodically(() => ensureSchedule(queues), timings.scheduleCheckMs)
  registerQueueMetrics(metrics.registry, backend, queues.queueOf)
  const handlers = createQueueHandlers(deps, config)
  const jobTracker = createJobTracker()
  const workers = queueNames.map((name) => {
    const { handle, concurrency } = handlers[name]
    const measured = withJobMetrics(metrics, name, handle)
    const processJob = async (job: Job) => {
      const data: unknown = job.data
      const onProgress = throttle(
        (progress: object) => void job.updateProgress(progress).catch(() => {}),
        timings.progressEveryMs,
      )
      if (isKnownJob(name, data)) return jobTracker.track(measured(data, onProgress))
      log.warn({ queue: name }, 'job ignored: unknown data')
    }
    return backend.openWorker(name, processJob, { concurrency })
  })
  log.info({ workerId: deps.workerId, queues: backend.name }, 'worker ready')

  return {
    async close() {
      stopping.abort()
      clock.stop()
      schedule.stop()
      await relay.close()
      const closed = Promise.allSettled(workers.map((worker) => worker.close()))
      // While the queues are unavailable, BullMQ's `close` does not resolve. Then it is enough that no job is active:
      // all
      // outcomes are in PostgreSQL, and a job that the queue did not mark as completed runs again and finds no work.
      const idleWait = new AbortController()
      const ended = Promise.race([closed, jobTracker.waitUntilIdle(timings.shutdownIdleMs, idleWait.signal)])
      // If the database stays unavailable, no outcome can be recorded, and the work of active jobs becomes INTERRUPTED.
      await withTimeout(ended, timings.shutdownTimeoutMs).catch(() => {})
      idleWait.abort()
      await heartbeat.stop()
      const onError = (error: unknown) => log.warn({ err: error }, 'deregistration failed')
      await deregisterWorker(db, deps.workerId)
        .then(() => recoverOrphanedClaims(db, timings.heartbeatTimeoutMs))
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

/** Pool connections that are reserved for the heartbeat and for jobs that do not drain webhooks. */
const reservedConnections = 6

const pollingWarning =
  'DATABASE_URL points to a connection pooler without LISTEN support: work is found by polling every second. ' +
  'Set DATABASE_DIRECT_URL to the address of the PostgreSQL server'

function createJobTracker() {
  const jobs = new Set<Promise<unknown>>()
  return {
    track<Result>(job: Promise<Result>): Promise<Result> {
      jobs.add(job)
      return job.finally(() => jobs.delete(job))
    },
    /** Resolves when no job has been active for `ms`. A job that was being fetched may still start in this time. */
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
      // The queue stores the error and the dashboard shows it, so it must not contain personal data.
      throw withoutParameters(error)
    }
  }
}

/** Runs `work` immediately and then at each interval. Ignores errors, as `work` fails while the queues are unavailable. */
function runPeriodically(work: () => Promise<void>, intervalMs: number): { stop(): void } {
  const run = () => void work().catch(() => {})
  run()
  const timer = setInterval(run, intervalMs)
  return { stop: () => clearInterval(timer) }
}

function throttle<Value>(report: (value: Value) => void, intervalMs: number): (value: Value) => void {
  let reportedAt = performance.now()
  return (value) => {
    if (performance.now() - reportedAt < intervalMs) return
    reportedAt = performance.now()
    report(value)
  }
}
