/** Runs the jobs of all queues in this process. */
import { setTimeout as sleep } from 'node:timers/promises'
import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import { withoutParameters } from '@rapport/core/kernel/errors.ts'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { type QueueName, queueNames } from '@rapport/core/work/queues.ts'
import type { Job } from 'bullmq'
import type { WorkerMetrics } from '../process/metrics.ts'
import type { WorkerDeps } from '../process/worker-deps.ts'
import { createQueueHandlers, isKnownJob } from './queue-handlers.ts'
import type { QueueBackend } from './queue-backend.ts'

/** Opens a BullMQ worker for each queue. `close` fetches no more jobs and waits for those that are active. */
export function openJobWorkers(
  deps: WorkerDeps,
  { backend, config }: { backend: QueueBackend; config: WorkerConfig },
): { close(): Promise<void> } {
  const { log, metrics, timings } = deps
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
      // While Redis is away, it fails or waits; the drain looks for new deliveries itself.
      const allowNextJob = () => void job.removeDeduplicationKey().catch(() => {})
      if (isKnownJob(name, data)) return jobTracker.track(measured(data, { onProgress, allowNextJob }))
      log.warn({ queue: name }, 'job ignored: unknown data')
    }
    return backend.openWorker(name, processJob, { concurrency })
  })
  return {
    async close() {
      const closed = Promise.allSettled(workers.map((worker) => worker.close()))
      // While the queues are unavailable, BullMQ's `close` does not resolve. Then it is enough that no job is active:
      // all outcomes are in PostgreSQL, and a job that the queue did not mark as completed runs again and finds no
      // work.
      const idleWait = new AbortController()
      const ended = Promise.race([closed, jobTracker.waitUntilIdle(timings.shutdownIdleMs, idleWait.signal)])
      // If the database stays unavailable, no outcome can be recorded, and the work of active jobs becomes INTERRUPTED.
      await withTimeout(ended, timings.shutdownTimeoutMs).catch(() => {})
      idleWait.abort()
    },
  }
}

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

function throttle<Value>(report: (value: Value) => void, intervalMs: number): (value: Value) => void {
  let reportedAt = performance.now()
  return (value) => {
    if (performance.now() - reportedAt < intervalMs) return
    reportedAt = performance.now()
    report(value)
  }
}
