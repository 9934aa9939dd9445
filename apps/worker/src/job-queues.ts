import type { QueueName, WorkJob } from '@rapport/core/jobs/queues.ts'
import { withTimeout } from '@rapport/core/kernel/with-timeout.ts'
import type { JobsOptions } from 'bullmq'
import type { QueueBackend, WorkQueue } from './queue-backend.ts'

const addTimeoutMs = 8_000
const closeTimeoutMs = 1_000

/** The queues of a worker, to add jobs to and to look at. */
export interface JobQueues {
  /**
   * Adds a job for each subject, unless the queue has one that waits. While one is active, another follows it. Rejects within
   * seconds when the queues are unavailable; some jobs may have been added by then.
   */
  add(queue: QueueName, jobs: readonly WorkJob[]): Promise<void>
  queueOf: (queue: QueueName) => WorkQueue
  /** Resolves after the first attempt to connect, so that a start does not look like an outage. */
  firstConnection: Promise<void>
  close(): Promise<void>
}

const retryOptions = (attempts: number, delay: number): JobsOptions => ({
  attempts,
  backoff: { type: 'exponential', delay, jitter: 0.2 },
})

/**
 * When a job that threw is run again: because the database was away, or because something waits for its next attempt. A
 * claim guards what may not be repeated, whatever the queue does. A webhook's backlog is found again by the poll.
 */
const jobOptions: Record<QueueName, JobsOptions> = {
  webhooks: { attempts: 1 },
  campaigns: retryOptions(10, 10_000),
  mail: retryOptions(5, 30_000),
  imports: retryOptions(10, 1_000),
  maintenance: retryOptions(5, 5_000),
}

/** What the jobs of a queue do, for the dashboard. */
const jobNames: Record<QueueName, string> = {
  webhooks: 'drain webhook',
  campaigns: 'send campaign batch',
  mail: 'send mail',
  imports: 'run import',
  maintenance: 'clear deleted records',
}

export function openJobQueues(backend: QueueBackend, onAdd: (queue: QueueName, count: number) => void): JobQueues {
  const queues = new Map<QueueName, WorkQueue>()

  /** Opened when it is first needed: a queue that is opened while Redis is away would wait for it. */
  function queueOf(name: QueueName): WorkQueue {
    const queue = queues.get(name) ?? backend.openQueue(name)
    queues.set(name, queue)
    return queue
  }

  /** A queue that was opened at the moment when Redis went away keeps that failure forever. */
  function discardQueue(name: QueueName): void {
    const queue = queues.get(name)
    queues.delete(name)
    queue?.close().catch(() => {})
  }

  return {
    queueOf,
    firstConnection: backend.firstConnection,
    async add(queue, jobs) {
      const entries = jobs.map((data) => ({
        name: jobNames[queue],
        data,
        opts: { ...jobOptions[queue], deduplication: { id: data.id, keepLastIfActive: true } },
      }))
      try {
        await withTimeout(queueOf(queue).addBulk(entries), addTimeoutMs)
      } catch (error) {
        discardQueue(queue)
        throw error
      }
      onAdd(queue, jobs.length)
    },
    async close() {
      // While the queues are away, `close` does not return.
      const closed = Promise.allSettled([...queues.values()].map((queue) => queue.close()))
      await withTimeout(closed, closeTimeoutMs).catch(() => {})
    },
  }
}

const maintenanceEveryMs = 3_600_000

/** Puts the schedule of the maintenance job where it is missing: Redis may have been emptied. */
export async function ensureSchedule({ queueOf }: JobQueues): Promise<void> {
  const maintenance = queueOf('maintenance')
  if (await maintenance.getJobScheduler('purge-expired')) return
  await maintenance.upsertJobScheduler('purge-expired', { every: maintenanceEveryMs }, { name: 'purge-expired' })
}
