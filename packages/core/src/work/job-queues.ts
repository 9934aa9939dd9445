/** Adds jobs to the queues, for the API and the worker. Independent of the queue library, which only they import. */
import { withTimeout } from '../kernel/concurrency/with-timeout.ts'
import { kindsOfWork, type WorkKind } from './kinds.ts'
import type { QueueName, WorkJob } from './queues.ts'

export type QueueTimings = Readonly<typeof defaultQueueTimings>

export const defaultQueueTimings = {
  addTimeoutMs: 8_000,
  closeTimeoutMs: 1_000,
  redisCommandTimeoutMs: 5_000,
  /** How soon a queue retries a failed job. The delay doubles with each attempt. */
  retryDelayMs: { campaigns: 10_000, mail: 30_000, imports: 1_000, maintenance: 5_000 },
}

interface JobOptions {
  attempts: number
  backoff?: { type: 'exponential'; delay: number; jitter: number }
  removeOnComplete?: true
  removeOnFail?: true
}

/** A queue of BullMQ, on either of its backends. */
interface JobQueue {
  addBulk(
    jobs: {
      name: string
      data: WorkJob
      opts: JobOptions & { deduplication: { id: string; keepLastIfActive: true } }
    }[],
  ): Promise<unknown>
  close(): Promise<void>
}

/** The queues of a process: adds jobs and reads their state. */
export interface JobQueues<Queue = JobQueue> {
  /**
   * Adds a job for each record. If a job for the same record is waiting, nothing is added; if it is active, one more
   * job runs after it. Rejects within seconds when the queues are unavailable; some jobs may already have been added.
   */
  add(queue: QueueName, jobs: readonly WorkJob[]): Promise<void>
  queueOf: (queue: QueueName) => Queue
  close(): Promise<void>
}

/** The kinds whose jobs the dashboard does not show once they have ended. */
const unkeptKinds: readonly WorkKind[] = ['ERASE_CONTACT', 'VISITOR_MAILS']

/**
 * How often and how soon the queue retries a failed job. Retries are safe: a claim in PostgreSQL prevents duplicate
 * deliveries and mails. A drain needs no retry, as the poll finds its backlog, nor does a release of mails. The job of an
 * erasure has the id of the contact, so it is not kept for the dashboard; those of releases would fill it.
 */
function createJobOptions({ retryDelayMs }: QueueTimings, kind: WorkKind): JobOptions {
  const { queue, attempts } = kindsOfWork[kind]
  if (queue === 'webhooks') return { attempts }
  const backoff = { type: 'exponential', delay: retryDelayMs[queue], jitter: 0.2 } as const
  return { attempts, backoff, ...(unkeptKinds.includes(kind) && { removeOnComplete: true, removeOnFail: true }) }
}

export function openJobQueues<Queue extends JobQueue>(
  backend: { openQueue(name: QueueName): Queue },
  { timings, onAdd }: { timings: QueueTimings; onAdd?: ((queue: QueueName, count: number) => void) | undefined },
): JobQueues<Queue> {
  const queues = new Map<QueueName, Queue>()

  /** Opens a queue on first use. A queue that is opened while Redis is unavailable would wait for it. */
  function queueOf(name: QueueName): Queue {
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
    async add(queue, jobs) {
      const entries = jobs.map((data) => ({
        name: kindsOfWork[data.kind].title,
        data,
        opts: {
          ...createJobOptions(timings, data.kind),
          deduplication: { id: `${data.workspaceId}/${data.id}`, keepLastIfActive: true as const },
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
