/**
 * Publishing after the commit: the process that enqueued work adds the job itself, so that a worker has it in a few
 * milliseconds. The API and the worker have a publisher; in another process, such as the CLI, nothing is published here,
 * and the poll of a worker finds the work within a second (`publish.ts`).
 *
 * No request waits for a publisher, and at most one add is on its way per process. While it is, other work is collected
 * for the next add. If an add fails, because Redis is away, what was collected is dropped: the poll publishes it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Db } from '../db/client.ts'
import { afterCommit, poolOf } from '../db/transaction.ts'
import { withoutContext } from '../kernel/concurrency/without-context.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import { queueOfJob } from './kinds.ts'
import { drainJobOf, releaseJobOf, type QueueName, type WorkJob } from './queues.ts'

export interface Publisher {
  publish(job: WorkJob): void
  /** Publishes nothing more, and resolves when the last add has ended. */
  close(): Promise<void>
}

/** The subjects that wait for an add. Further ones are dropped: the poll publishes them. */
const defaultMaxPending = 10_000

/** The work of one turn of the event loop, or of the time of an add, shares the next add. A subject is added once. */
export function createPublisher(options: {
  add: (queue: QueueName, jobs: readonly WorkJob[]) => Promise<void>
  onError?: (error: Error) => void
  maxPending?: number
}): Publisher {
  const { add, onError = () => {}, maxPending = defaultMaxPending } = options
  const pending = new Map<string, WorkJob>()
  let running: Promise<void> | undefined
  let isClosed = false

  async function addPending(): Promise<void> {
    const groups = Map.groupBy(pending.values(), queueOfJob)
    pending.clear()
    for (const [queue, jobs] of groups) await add(queue, jobs)
  }

  async function run(): Promise<void> {
    while (pending.size > 0) {
      await nextTurn()
      await addPending().catch((error: unknown) => {
        pending.clear()
        onError(error as Error)
      })
    }
    running = undefined
  }

  return {
    publish(job) {
      const key = keyOf(job)
      if (isClosed || (pending.size >= maxPending && !pending.has(key))) return
      pending.set(key, job)
      running ??= withoutContext(run)
    },
    async close() {
      isClosed = true
      await running
    },
  }
}

const keyOf = ({ workspaceId, kind, id }: WorkJob) => `${workspaceId} ${kind} ${id}`

/** The publisher of each pool. */
const publishers = new WeakMap<object, Publisher>()

/** Attaches the publisher of the process: from now on, commits on this pool publish their work. */
export function attachPublisher(pool: Db, publisher: Publisher): void {
  publishers.set(pool.$client, publisher)
}

/** Whether this process publishes work itself. Otherwise its work is left to the poll. */
export function hasPublisher(db: Db): boolean {
  const pool = poolOf(db)
  return pool !== undefined && publishers.has(pool.$client)
}

/** Publishes a job after the commit, or immediately without a transaction. */
export function publishAfterCommit(db: Db, job: WorkJob): void {
  afterCommit(db, `publish ${keyOf(job)}`, (pool) => publishers.get(pool.$client)?.publish(job))
}

/** Publishes the drain of a workspace that has new deliveries. */
export function publishDrain(db: Db, workspaceId: WorkspaceId): void {
  publishAfterCommit(db, drainJobOf(workspaceId))
}

/** Publishes the release of mails that visitors of a workspace asked for. */
export function publishRelease(db: Db, workspaceId: WorkspaceId): void {
  publishAfterCommit(db, releaseJobOf(workspaceId))
}
