import { sql } from 'drizzle-orm'
import type { Registry } from 'prom-client'
import type { Db } from '../db/client.ts'
import { readSecondsAhead } from '../db/partitions.ts'
import { queueNames } from '../jobs/queues.ts'
import { createUnlabeledGauge, createGauge } from '../runtime/metrics.ts'
import { readOutboxLag } from './work-summary.ts'
import { countFailingWebhooks } from '../webhooks/health/failing-webhooks.ts'

interface WorkMetrics {
  queues: { queue: string; state: 'waiting' | 'published'; count: number; oldestSeconds: number }[]
  workers: number
}

/** The work that is not done in the whole installation. Reads every row of it: some tenths of a second for a million. */
export async function readWorkMetrics(db: Db): Promise<WorkMetrics> {
  const queues = await db.execute<Record<string, unknown> & WorkMetrics['queues'][number]>(sql`
    select queue, case when published_at is null then 'waiting' else 'published' end as state,
      count(*)::int as count, greatest(0, extract(epoch from now() - min(created_at)))::float8 as "oldestSeconds"
    from outbox group by 1, 2
    union all
    select 'webhooks', 'waiting', count(*)::int,
      greatest(0, extract(epoch from now() - min(created_at) filter (where coalesce(unreachable_count, 0) = 0)))::float8
    from deliveries left join webhook_drains using (workspace_id, webhook_id) where status = 'PENDING'`)
  const workers = await db.execute<{ count: number }>(sql`select count(*)::int as count from workers`)
  return { queues: queues.rows, workers: workers.rows[0]?.count ?? 0 }
}

const minCacheMs = 10_000

/**
 * Answers what `read` answered last, for ten seconds or twenty times as long as it took: however often somebody asks,
 * reading takes a twentieth of the time at most. Those who ask at once share one reading.
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
    // What failed is worth another try sooner.
    last.catch(() => (staleAt = performance.now() + minCacheMs))
    return last
  }
}

/** Tells Prometheus what waits, on each queue, how many workers live, and whether they keep the partitions. */
export function registerWorkMetrics(registry: Registry, db: Db): void {
  const read = cacheResult(() => readWorkMetrics(db))
  const states = ['waiting', 'published'] as const
  const labelSets = queueNames.flatMap((queue) => states.map((state) => ({ queue, state })))
  createGauge(registry, {
    name: 'outbox_rows',
    help: 'Work that is not done: waiting in PostgreSQL, or published to the queue. PENDING deliveries wait',
    labelNames: ['queue', 'state'],
    read: async () => {
      const { queues } = await read()
      return labelSets.map((labels) => ({ labels, value: findQueue(queues, labels)?.count ?? 0 }))
    },
  })
  createGauge(registry, {
    name: 'outbox_oldest_seconds',
    help: 'Age of the oldest work that is not done; of deliveries, of those whose receivers respond',
    labelNames: ['queue', 'state'],
    read: async () => {
      const { queues } = await read()
      return labelSets.map((labels) => ({ labels, value: findQueue(queues, labels)?.oldestSeconds ?? 0 }))
    },
  })
  createUnlabeledGauge(registry, {
    name: 'outbox_lag_seconds',
    help: 'Age of the oldest work that a relay could publish and has not',
    read: cacheResult(async () => (await readOutboxLag(db)) ?? 0),
  })
  createUnlabeledGauge(registry, {
    name: 'workers',
    help: 'Workers that have shown within the last seconds that they live',
    read: async () => (await read()).workers,
  })
  createUnlabeledGauge(registry, {
    name: 'partitions_ahead_seconds',
    help: 'For how long to come events and deliveries have partitions',
    read: cacheResult(() => readSecondsAhead(db)),
  })
  createUnlabeledGauge(registry, {
    name: 'webhooks_failing',
    help: 'Enabled webhooks all of whose attempts have failed for an hour or longer',
    read: cacheResult(() => countFailingWebhooks(db)),
  })
}

function findQueue(queues: WorkMetrics['queues'], { queue, state }: { queue: string; state: string }) {
  return queues.find((one) => one.queue === queue && one.state === state)
}
