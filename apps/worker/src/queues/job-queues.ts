import { kindsOfWork, type WorkKind } from '@rapport/core/work/kinds.ts'
import type { QueueName, WorkJob } from '@rapport/core/work/queues.ts'
import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import type { JobsOptions } from 'bullmq'
import type { QueueBackend, WorkQueue } from './queue-backend.ts'
import type { WorkerTimings } from '../process/worker-timings.ts'

/** The queues of a worker: adds jobs and reads their state. */
export interface JobQueues {
  /**
   * Adds a job for each record. If a job for the same record is waiting, nothing is added; if it is active, one more
   * job runs after it. Rejects within seconds when the queues are unavailable; some jobs may already have been added.
   */
  add(queue: QueueName, jobs: readonly WorkJob[]): Promise<void>
  queueOf: (queue: QueueName) => WorkQueue
  /** Resolves after the first connection attempt, so that startup is not reported as an outage. */
  firstConnection: Promise<void>
  close(): Promise<void>
}

/**
 * How often and how soon the queue retries a failed job. Retries are safe: a claim in PostgreSQL prevents duplicate
 * deliveries and mails. A drain needs no retry, as the relay polls for backlogs.
 */
function createJobOptions({ retryDelayMs }: WorkerTimings, kind: WorkKind): JobsOptions {
  const { queue, attempts } = kindsOfWork[kind]
  if (queue === 'webhooks') return { attempts }
  return { attempts, backoff: { type: 'exponential', delay: retryDelayMs[queue], jitter: 0.2 } }
}

export function openJobQueues(
  backend: QueueBackend,
  { timings, onAdd }: { timings: WorkerTimings; onAdd?: (queue: QueueName, count: number) => void },
): JobQueues {
  const queues = new Map<QueueName, WorkQueue>()

  /** Opens a queue on first use. A queue that is opened while Redis is unavailable would wait for it. */
  function queueOf(name: QueueName): WorkQueue {
    const queue = queues.get(name) ?? backend.openQueue(name)
    queues.set(name, queue)
    return queue
  }

  /** Makes the next call open a new queue. A queue that lost Redis while it was being opened never recovers. */
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
        name: kindsOfWork[data.kind].title,
        data,
        opts: {
          ...createJobOptions(timings, data.kind),
          deduplication: { id: `${data.workspaceId}/${data.id}`, keepLastIfActive: true },
        },
      }))
      try {
        await withTimeout(queueOf(queue).addBulk(entries), timings.addTimeoutMs)
      } catch (error) {
        discardQueue(queue)
        throw error
      }
      onAdd?.(queue, jobs.length)
    },
    async close() {
      // While the queues are unavailable, `close` does not resolve.
      const closed = Promise.allSettled([...queues.values()].map((queue) => queue.close()))
      await withTimeout(closed, timings.closeTimeoutMs).catch(() => {})
    },
  }
}

const maintenanceEveryMs = 3_600_000

/** Creates the schedule of the maintenance job if it is missing, for example after Redis was flushed. */
export async function ensureSchedule({ queueOf }: JobQueues): Promise<void> {
  const maintenance = queueOf('maintenance')
  if (await maintenance.getJobScheduler('purge-expired')) return
  await maintenance.upsertJobScheduler('purge-expired', { every: maintenanceEveryMs }, { name: 'purge-expired' })
}
