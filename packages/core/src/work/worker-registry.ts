/** The worker registry. A worker registers before its first claim, because a claim names its worker. */
import { hostname } from 'node:os'
import { eq, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { workers } from '../db/schema/index.ts'
import { timestampAt, timestampNow } from '../kernel/values/timestamps.ts'

export const heartbeatIntervalMs = 3_000
/** A worker whose last heartbeat is older than this, by the clock of the database, counts as crashed. */
export const heartbeatTimeoutMs = 15_000

/** Registers the worker or renews its heartbeat. A worker that counted as crashed is registered again. */
export async function recordHeartbeat(db: Db, workerId: string, clockAt = timestampNow()): Promise<void> {
  await db
    .insert(workers)
    .values({ id: workerId, host: hostname(), clockAt })
    .onConflictDoUpdate({ target: workers.id, set: { seenAt: sql`now()`, clockAt } })
}

export interface WorkerState {
  id: string
  host: string
  startedAt: string
  seenSecondsAgo: number
  isAlive: boolean
  /** Positive if the clock of the worker is ahead of the database's; too low by the time that the heartbeat took. */
  clockOffsetMs: number | null
}

/** Registered workers, oldest first. */
export function listWorkers(db: Db): Promise<WorkerState[]> {
  return db
    .select({
      id: workers.id,
      host: workers.host,
      startedAt: workers.startedAt,
      seenSecondsAgo: sql<number>`greatest(0, round(extract(epoch from now() - ${workers.seenAt})))::int`,
      clockOffsetMs: sql<
        number | null
      >`round(extract(epoch from ${workers.clockAt} - ${workers.seenAt}) * 1000)::float8`,
      isAlive: isSeenWithin(heartbeatTimeoutMs),
    })
    .from(workers)
    .orderBy(workers.startedAt, workers.id)
}

/** Removes a worker that shuts down. Its remaining claims are recovered like those of a crashed worker. */
export async function deregisterWorker(db: Db, workerId: string): Promise<void> {
  await db.delete(workers).where(eq(workers.id, workerId))
}

/**
 * Marks all workers as crashed: they do not run on this copy of the database. Its migrations may be pending, so this
 * writes only a column of the first release.
 */
export async function expireHeartbeats(db: Db): Promise<void> {
  await db.update(workers).set({ seenAt: timestampAt(0) })
}

/** Whether this worker is the elected one, which polls and reads the mailbox: the live worker with the smallest id. */
export async function isPollingWorker(db: Db, workerId: string, timeoutMs: number): Promise<boolean> {
  const [first] = await db
    .select({ id: workers.id })
    .from(workers)
    .where(isSeenWithin(timeoutMs))
    .orderBy(workers.id)
    .limit(1)
  return first?.id === workerId
}

/** A condition: whether the last heartbeat of a worker is at most `timeoutMs` old. */
export const isSeenWithin = (timeoutMs: number) =>
  sql<boolean>`${workers.seenAt} > now() - ${timeoutMs}::float8 * interval '1 ms'`
