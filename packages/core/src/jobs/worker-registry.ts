/** The worker processes that are alive. A worker registers before its first claim, as a claim names its worker. */
import { hostname } from 'node:os'
import { eq, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { workers } from '../db/schema/index.ts'
import { toTimestamp } from '../kernel/validation.ts'

/** How often a worker shows that it lives, and after what silence it counts as dead: by the database's clock. */
export const heartbeatIntervalMs = 3_000
export const heartbeatTimeout = sql`interval '15 seconds'`

/** Shows that this worker lives; to be called before its first claim. One that was taken for dead comes back by this. */
export async function recordHeartbeat(db: Db, workerId: string): Promise<void> {
  await db
    .insert(workers)
    .values({ id: workerId, host: hostname() })
    .onConflictDoUpdate({ target: workers.id, set: { seenAt: sql`now()` } })
}

export interface WorkerState {
  id: string
  host: string
  startedAt: string
  seenSecondsAgo: number
  isAlive: boolean
}

/** Those who have shown themselves and not taken leave, the longest serving first. */
export async function listWorkers(db: Db): Promise<WorkerState[]> {
  const rows = await db
    .select({
      id: workers.id,
      host: workers.host,
      startedAt: workers.startedAt,
      seenSecondsAgo: sql<number>`greatest(0, round(extract(epoch from now() - ${workers.seenAt})))::int`,
      isAlive: sql<boolean>`${workers.seenAt} > now() - ${heartbeatTimeout}`,
    })
    .from(workers)
    .orderBy(workers.startedAt, workers.id)
  return rows.map((row) => ({ ...row, startedAt: toTimestamp(row.startedAt) }))
}

/** Removes a worker that stops. A claim that it still has is recovered like that of a dead one. */
export async function deregisterWorker(db: Db, workerId: string): Promise<void> {
  await db.delete(workers).where(eq(workers.id, workerId))
}

/** Whether this worker is the first of those that were seen lately: it does what one worker of all is enough for. */
export async function isPollingWorker(db: Db, workerId: string): Promise<boolean> {
  const result = await db.execute<{ id: string }>(
    sql`select id from workers where seen_at > now() - interval '7 seconds' order by id limit 1`,
  )
  return result.rows[0]?.id === workerId
}
