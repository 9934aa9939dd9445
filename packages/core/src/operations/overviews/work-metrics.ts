import { sql } from 'drizzle-orm'
import type { Registry } from 'prom-client'
import { findNewestBackup } from '../../backups/backup-records.ts'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { workers } from '../../db/schema/index.ts'
import { float, int, text, textOf } from '../../db/statements/sql-types.ts'
import { readSecondsAhead } from '../../db/partitions.ts'
import { isNoDrain, isStuckIfOld } from '../../work/kinds.ts'
import { isAmongStoppedWorkspaces } from '../../request/workspace-state.ts'
import { queueNames } from '../../work/queues.ts'
import { heartbeatTimeoutMs, isSeenWithin } from '../../work/worker-registry.ts'
import { createUnlabeledGauge, createGauge } from '../../runtime/metrics.ts'
import { readWorkLag } from './work-lag.ts'
import { queueOfWork } from './work-summary.ts'
import { countFailingWebhooks } from '../../webhooks/health/failing-webhooks.ts'

interface WorkMetrics {
  queues: { queue: string; state: 'waiting' | 'published'; count: number; oldestSeconds: number }[]
  workers: number
}

/** Counts the pending work of the installation. Scans all its rows: a few tenths of a second per million rows. */
export async function readWorkMetrics(db: Db): Promise<WorkMetrics> {
  const queues = await countPendingWork(db)
  return { queues, workers: await db.$count(workers, isSeenWithin(heartbeatTimeoutMs)) }
}

const countPendingWork = namedStatement('count pending work', {
  columns: { queue: text, state: textOf<'waiting' | 'published'>(), count: int, oldestSeconds: float },
  sql: () => sql`
    select queue, case when published_at is null then 'waiting' else 'published' end as state,
      count(*)::int as count, greatest(0, extract(epoch from now() - min(created_at)))::float8 as oldest_seconds
    from (
      select ${queueOfWork} as queue, published_at, case when ${isStuckIfOld} then created_at end as created_at
      from work where ${isNoDrain}) enqueued
    group by 1, 2
    union all
    select 'webhooks', 'waiting', count(*)::int,
      greatest(0, extract(epoch from now() - min(created_at) filter (
        where coalesce(unreachable_count, 0) = 0 and not (${isAmongStoppedWorkspaces}))))::float8
    from deliveries left join webhook_health using (workspace_id, webhook_id) where status = 'PENDING'`,
})

const minCacheMs = 10_000

/**
 * Caches the result of `read` for ten seconds or twenty times the duration of the read, whichever is longer, so that
 * reads take at most a twentieth of the time. Concurrent callers share one read.
 */
export function cacheResult<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let last: Promise<Result> | undefined
  let staleAt = 0
  return () => {
    if (last && performance.now() < staleAt) return last
    const startedAt = performance.now()
    staleAt = Infinity
    last = read().finally(() => {
      const durationMs = performance.now() - startedAt
      staleAt = performance.now() + Math.max(minCacheMs, 20 * durationMs)
    })
    // A failed result is cached for the minimum time only.
    last.catch(() => (staleAt = performance.now() + minCacheMs))
    return last
  }
}

/** Registers gauges for pending work per queue, workers, partitions, backups and failing webhooks. */
export function registerWorkMetrics(registry: Registry, db: Db): void {
  const read = cacheResult(() => readWorkMetrics(db))
  const states = ['waiting', 'published'] as const
  const labelSets = queueNames.flatMap((queue) => states.map((state) => ({ queue, state })))
  createGauge(registry, {
    name: 'work_rows',
    help: 'Pending work: waiting in PostgreSQL, or published to the queue. PENDING deliveries count as waiting',
    labelNames: ['queue', 'state'],
    read: async () => {
      const { queues } = await read()
      return labelSets.map((labels) => ({ labels, value: findQueue(queues, labels)?.count ?? 0 }))
    },
  })
  createGauge(registry, {
    name: 'work_oldest_seconds',
    help: 'Age of the oldest pending work, without that of suspended or deleted workspaces and of webhooks that do not respond',
    labelNames: ['queue', 'state'],
    read: async () => {
      const { queues } = await read()
      return labelSets.map((labels) => ({ labels, value: findQueue(queues, labels)?.oldestSeconds ?? 0 }))
    },
  })
  createUnlabeledGauge(registry, {
    name: 'work_lag_seconds',
    help: 'For how long the oldest work has waited for a worker, without that of suspended or deleted workspaces',
    read: cacheResult(async () => (await readWorkLag(db)) ?? 0),
  })
  createUnlabeledGauge(registry, {
    name: 'workers',
    help: 'Workers with a recent heartbeat',
    read: async () => (await read()).workers,
  })
  createUnlabeledGauge(registry, {
    name: 'partitions_ahead_seconds',
    help: 'How far ahead events and deliveries have partitions',
    read: cacheResult(() => readSecondsAhead(db)),
  })
  const findBackup = cacheResult(() => findNewestBackup(db))
  createGauge(registry, {
    name: 'backup_age_seconds',
    help: 'Age of the newest complete backup; absent until the first one',
    read: async () => {
      const backup = await findBackup()
      return backup ? [{ labels: {}, value: backup.ageSeconds }] : []
    },
  })
  createUnlabeledGauge(registry, {
    name: 'webhooks_failing',
    help: 'Enabled webhooks whose attempts have all failed for an hour or longer, the last one within a day',
    read: cacheResult(() => countFailingWebhooks(db)),
  })
}

function findQueue(queues: WorkMetrics['queues'], { queue, state }: { queue: string; state: string }) {
  return queues.find((entry) => entry.queue === queue && entry.state === state)
}
