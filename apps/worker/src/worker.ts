import { randomUUID } from 'node:crypto'
import { dkimKeyOf, type WorkerConfig } from '@rapport/core/runtime/config.ts'
import { retentionFrom } from '@rapport/core/runtime/variables/retention-variables.ts'
import { createQuotaCache } from '@rapport/core/quotas/quota-cache.ts'
import { settingsFrom } from '@rapport/core/request/context.ts'
import { type Database, openDatabase } from '@rapport/core/db/client.ts'
import { watchClock } from '@rapport/core/db/clock-offset.ts'
import { type Closers, createClosers } from '@rapport/core/kernel/concurrency/closers.ts'
import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import { openTracer } from '@rapport/core/runtime/tracing.ts'
import { warnAboutMissingTimeouts } from '@rapport/core/db/pooler.ts'
import { assertUpgradable } from '@rapport/core/db/migrate.ts'
import { assertSupportedServer } from '@rapport/core/db/server-version.ts'
import { stopRenderingThread } from '@rapport/core/rendering/rendering.ts'
import { type JobQueues, openJobQueues } from '@rapport/core/work/job-queues.ts'
import { attachPublisher, createPublisher } from '@rapport/core/work/publisher.ts'
import type { QueueName } from '@rapport/core/work/queues.ts'
import { recordHeartbeat, deregisterWorker } from '@rapport/core/work/worker-registry.ts'
import { requireSecretKey } from '@rapport/core/installation/key-check.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import type { Logger } from 'pino'
import { openBounceReceivers } from './bounces/open-bounce-receivers.ts'
import { createWorkerMetrics, withMailMetrics } from './process/metrics.ts'
import { registerQueueMetrics } from './queues/queue-metrics.ts'
import { openOperatorPort } from './process/operator-port.ts'
import { reportRecovered, startHeartbeat, type HeartbeatDeps } from './process/heartbeat.ts'
import type { WorkerDeps } from './process/worker-deps.ts'
import { defaultTimings, type WorkerTimings } from './process/worker-timings.ts'
import { openJobWorkers } from './queues/job-workers.ts'
import { ensureSchedule } from './queues/maintenance-schedule.ts'
import { startPoller } from './queues/poller.ts'
import { openQueueBackend } from './queues/queue-backend.ts'
import { createMailRateLimiter } from './smtp/mail-rate-limiter.ts'
import { openMailTransport } from './smtp/mail-transport.ts'
import { createUnsignedLog } from './jobs/attempt-delivery.ts'
import { createJobShares, mailJobs } from './jobs/job-shares.ts'
import { openOutboundHttp } from './webhook-delivery/outbound-http.ts'
import { createReceiverMemory } from './webhook-delivery/receiver-memory.ts'

interface Options {
  timings?: WorkerTimings
  /** The clock of the process. Default: `Date.now`. */
  now?: (() => number) | undefined
}

/**
 * Starts the worker: the publisher, the poll, and a BullMQ worker for each queue. `close` stops fetching jobs, waits for
 * active jobs, requeues unfinished work and leaves no claims. A start that fails closes what it has opened.
 */
export async function startWorker(
  config: WorkerConfig,
  log: Logger,
  options: Options = {},
): Promise<{ close(): Promise<void> }> {
  const closers = createClosers()
  try {
    await open(config, log, { ...options, closers })
    return closers
  } catch (error) {
    await closers.close().catch(() => {})
    throw error
  }
}

async function open(
  config: WorkerConfig,
  log: Logger,
  { timings = defaultTimings, now, closers }: Options & { closers: Closers },
): Promise<void> {
  const database = openDatabase(config.DATABASE_URL, {
    applicationName: 'rapport worker',
    onError: (error) => log.warn({ err: error }, 'database connection lost'),
  })
  closers.push(() => database.close())
  const { db } = database
  await assertSupportedServer(db, (error) => log.warn({ err: error }, 'PostgreSQL unavailable; retrying'))
  await assertUpgradable(db)
  await requireSecretKey(db, settingsFrom(config).keys)
  const stopping = new AbortController()
  const metrics = createWorkerMetrics()
  const backend = await openQueueBackend(config, { log, timings })
  closers.push(() => backend.close())
  const onAdd = (queue: QueueName, count: number) => metrics.published.inc({ queue }, count)
  const queues = openJobQueues(backend, { timings, onAdd })
  closers.push(() => queues.close())
  const publisher = createPublisher({ add: (queue, jobs) => queues.add(queue, jobs) })
  closers.push(() => withTimeout(publisher.close(), timings.closeTimeoutMs).catch(() => {}))
  attachPublisher(db, publisher)
  const clock = watchClock({ db, log, now })
  const operatorPort = await openOperatorPort(config, { database, backend, metrics, stopping: stopping.signal, clock })
  closers.push(() => operatorPort?.close())
  registerQueueMetrics(metrics.registry, backend, queues.queueOf)
  const deps = await openDeps(config, { database, queues, metrics, log, timings, closers, stopping: stopping.signal })

  await recordHeartbeat(db, deps.workerId)
  closers.push(() => deregister(deps))
  const heartbeat = startHeartbeat(deps)
  closers.push(() => heartbeat.stop())
  clock.start()
  closers.push(() => clock.stop())
  void warnAboutMissingTimeouts(db, (message) => log.warn(message))
  const workers = openJobWorkers(deps, { backend, config })
  closers.push(() => workers.close())
  const { workerId } = deps
  const { firstConnection } = backend
  const poller = startPoller({ db, queues, firstConnection, workerId, log, timings })
  closers.push(() => poller.close())
  const bounces = await openBounceReceivers(config, deps)
  closers.push(() => bounces.close())
  const schedule = runPeriodically(() => ensureSchedule(queues), timings.scheduleCheckMs)
  closers.push(() => schedule.stop())
  closers.push(() => stopping.abort())
  log.info({ workerId, queues: backend.name }, 'worker ready')
}

interface Opened extends Pick<WorkerDeps, 'metrics' | 'log' | 'timings' | 'stopping'> {
  database: Database
  queues: JobQueues
  closers: Closers
}

/** Opens what the jobs need. */
async function openDeps(config: WorkerConfig, opened: Opened): Promise<WorkerDeps> {
  const { database, queues, closers, ...rest } = opened
  const { metrics, log, timings, stopping } = rest
  const { db } = database
  const tracer = await openTracer('rapport-worker', config)
  closers.push(() => tracer?.close())
  const http = openOutboundHttp(config.WEBHOOK_ALLOWED_NETWORKS, {
    timings,
    refusedPorts: config.WEBHOOK_REFUSED_PORTS,
  })
  closers.push(() => http.close())
  const mail = withMailMetrics(openMailTransport(config.SMTP_URL, dkimKeyOf(config)), metrics)
  closers.push(() => mail.close())
  closers.push(stopRenderingThread)
  const webhookQuota = createQuotaCache('webhookRequests')
  return {
    ...rest,
    db,
    settings: settingsFrom(config),
    retention: retentionFrom(config),
    workerId: randomUUID(),
    mail,
    mailRateLimiter: createMailRateLimiter(db, config.MAIL_RATE, stopping),
    http,
    webhookQuota,
    drains: { active: new Map(), max: config.WORKER_CONCURRENCY },
    receivers: createReceiverMemory(),
    // While the queues are unavailable, the add fails; the poll finds the backlog later.
    requeueDrain: (job) => queues.add('webhooks', [job]).catch(() => {}),
    logUnsigned: createUnsignedLog(log),
    tracer,
    jobShares: createJobShares(mailJobs),
    liveClaims: new Set(),
  }
}

/** Without an entry in the registry, the claims that are left count as those of a crashed worker. */
async function deregister(deps: HeartbeatDeps): Promise<void> {
  try {
    await deregisterWorker(deps.db, deps.workerId)
    reportRecovered(deps, await recoverOrphanedClaims(deps.db, deps.timings.heartbeatTimeoutMs))
  } catch (error) {
    deps.log.warn({ err: error }, 'deregistration failed')
  }
}

/** Runs `work` immediately and then at each interval. Ignores errors, as `work` fails while the queues are unavailable. */
function runPeriodically(work: () => Promise<void>, intervalMs: number): { stop(): void } {
  const run = () => void work().catch(() => {})
  run()
  const timer = setInterval(run, intervalMs)
  return { stop: () => clearInterval(timer) }
}
