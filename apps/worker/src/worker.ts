import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { closeRendering } from '@rapport/core/campaigns/templates/rendering.ts'
import { dkimKeyOf, type WorkerConfig } from '@rapport/core/runtime/config.ts'
import { settingsFrom } from '@rapport/core/request/context.ts'
import { openDatabase, poolSize } from '@rapport/core/db/client.ts'
import { watchClock } from '@rapport/core/db/clock-offset.ts'
import { withoutParameters } from '@rapport/core/kernel/errors.ts'
import { withTimeout } from '@rapport/core/kernel/with-timeout.ts'
import { openTracer } from '@rapport/core/runtime/tracing.ts'
import { warnAboutMissingTimeouts, lacksSessions, sessionUrlOf } from '@rapport/core/db/pooler.ts'
import { type QueueName, queueNames, type WorkJob } from '@rapport/core/jobs/queues.ts'
import { deliveryPlanning } from '@rapport/core/webhooks/deliveries.ts'
import { recordHeartbeat, deregisterWorker } from '@rapport/core/jobs/worker-registry.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/dead-worker-recovery.ts'
import type { Logger } from 'pino'
import { openDeliveryDesk } from './webhook-delivery/delivery-desk.ts'
import { startHeartbeat } from './heartbeat.ts'
import { createJobs, isOurs, jobOptions } from './jobs.ts'
import { createMailRateLimiter } from './smtp/mail-rate-limiter.ts'
import { openMailTransport } from './smtp/mail-transport.ts'
import { countingMails, createWorkerMetrics, describeQueues, type WorkerMetrics } from './observability/metrics.ts'
import { openOperatorPort } from './observability/operator-port.ts'
import { openOutboundHttp } from './webhook-delivery/outbound-http.ts'
import { chooseBackend, type WorkQueue } from './queue-backend.ts'
import { createQuickLanes } from './webhook-delivery/quick-lanes.ts'
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
    maxConnections: poolSize - deskConnections,
    onError,
  })
  const desk = openDatabase(config.DATABASE_URL, {
    applicationName: 'rapport worker deliveries',
    maxConnections: deskConnections,
    settings: deliveryPlanning,
    lifetimeSeconds: 10,
    onError,
  })
  const { db } = database
  const stopping = new AbortController()
  const metrics = createWorkerMetrics()
  const [workerId, activeJobs] = [randomUUID(), new Map<string, Promise<void>>()]
  const deps: WorkerDeps = {
    db,
    settings: settingsFrom(config),
    workerId,
    mail: countingMails(openMailTransport(config.SMTP_URL, dkimKeyOf(config)), metrics),
    pace: createMailRateLimiter(db, config.MAIL_RATE, stopping.signal),
    http: openOutboundHttp(config.WEBHOOK_ALLOWED_NETWORKS),
    deliveries: openDeliveryDesk(desk.db, workerId, activeJobs),
    quickLanes: createQuickLanes(),
    log,
    tracer: await openTracer('rapport-worker', config),
    metrics,
    stopping: stopping.signal,
    activeJobs,
  }
  const backend = await chooseBackend(config, log)
  const clock = watchClock({ db, log, now })
  const operated = { database, backend, metrics, stopping: stopping.signal, clock }
  const operatorPort = await openOperatorPort(config, operated).catch(async (error: unknown) => {
    await backend.close()
    throw error
  })
  clock.start()
  await recordHeartbeat(db, deps.workerId)
  const heart = startHeartbeat(deps)
  void warnAboutMissingTimeouts(db, (message) => log.warn(message))
  const listenUrl = (await lacksSessions(config)) ? undefined : sessionUrlOf(config)
  if (listenUrl === undefined) log.warn(needsDirectUrl)
  const relay = startRelay({
    database,
    listenUrl,
    backend,
    jobOptions,
    log,
    onHandOver: (queue, count) => metrics.handedOver.inc({ queue }, count),
    quickLanes: () => deps.quickLanes.list(),
    onNewEpoch: scheduleMaintenance,
  })
  describeQueues(metrics.registry, backend, relay.queueOf)
  const jobs = createJobs(deps, config)
  const inProgress = trackProgress()
  const workers = queueNames.map((name) => {
    const { handle, concurrency } = jobs[name]
    const timed = timing(metrics, name, handle)
    const work = async ({ data }: { data: unknown }) => {
      if (isOurs(name, data)) await inProgress.during(timed(data))
      else log.warn({ queue: name }, 'a job that names no work of ours was left alone')
    }
    return backend.openWorker(name, work, { concurrency })
  })
  log.info({ workerId: deps.workerId, queues: backend.name }, 'the worker is ready')

  return {
    async close() {
      stopping.abort()
      clock.stop()
      await relay.close()
      const closed = Promise.allSettled(workers.map((worker) => worker.close()))
      // With the queues away BullMQ waits for them for ever. What matters is recorded in PostgreSQL by then: a job that
      // the queue does not know to be done comes again and finds nothing to do.
      const quiet = new AbortController()
      const ended = Promise.race([closed, inProgress.quiet(quietMs, quiet.signal)])
      // With the database away nothing can be recorded, and active jobs become INTERRUPTED.
      await withTimeout(ended, shutdownTimeoutMs).catch(() => {})
      quiet.abort()
      await heart.stop()
      const onError = (error: unknown) => log.warn({ err: error }, 'could not take leave')
      await deregisterWorker(db, deps.workerId)
        .then(() => recoverOrphanedClaims(db))
        .then(metrics.countInterrupted, onError)
      await closeRendering()
      deps.mail.close()
      await deps.http.close()
      await deps.tracer?.close()
      await operatorPort?.close()
      await backend.close()
      await Promise.all([desk.close(), database.close()])
    },
  }
}

/** Of the worker's connections those on which deliveries are claimed and settled, one call of each at a time. */
const deskConnections = 4

const needsDirectUrl =
  'DATABASE_URL leads through a connection pooler, where nothing can be listened to: work is found by polling, each ' +
  'second. Set DATABASE_DIRECT_URL to the server itself'

/** How long the queues may take to close when no job is active. */
const quietMs = 2_000
/** How long active jobs may take to record their outcome. */
const shutdownTimeoutMs = 60_000

function trackProgress() {
  const jobs = new Set<Promise<void>>()
  return {
    async during(job: Promise<void>): Promise<void> {
      jobs.add(job)
      await job.finally(() => jobs.delete(job))
    },
    /** Resolves when no job has been in hand for so long: one that was just being fetched may still begin. */
    async quiet(ms: number, signal: AbortSignal): Promise<void> {
      do {
        while (jobs.size > 0) await Promise.allSettled(jobs)
        await sleep(ms, undefined, { signal }).catch(() => {})
      } while (jobs.size > 0)
    },
  }
}

function timing({ jobSeconds }: WorkerMetrics, queue: QueueName, handle: (job: WorkJob) => Promise<void>) {
  return async (job: WorkJob) => {
    const startedAt = performance.now()
    const count = (outcome: string) => jobSeconds.observe({ queue, outcome }, (performance.now() - startedAt) / 1_000)
    await handle(job).then(
      () => count('done'),
      (error: unknown) => {
        count('failed')
        // The queue keeps what it says, and the dashboard shows it.
        throw withoutParameters(error)
      },
    )
  }
}

async function scheduleMaintenance(queueOf: (name: QueueName) => WorkQueue) {
  await queueOf('maintenance').upsertJobScheduler('purge-expired', { every: 3_600_000 }, { name: 'purge-expired' })
}
