import { sql } from 'drizzle-orm'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import { createUnlabeledGauge, createGauge, createUpGauge } from '../runtime/metrics.ts'
import type { Database } from './client.ts'

/** Node's own figures, and the connections to PostgreSQL. */
export function registerProcessMetrics(registry: Registry, { db, pool }: Pick<Database, 'db' | 'pool'>): void {
  collectDefaultMetrics({ register: registry })
  createUpGauge(registry, {
    name: 'database_up',
    help: 'Whether PostgreSQL answers this process',
    check: () => db.execute(sql`select 1`),
  })
  createGauge(registry, {
    name: 'database_connections',
    help: 'Connections to PostgreSQL that this process holds',
    labelNames: ['state'],
    read: async () => [
      { labels: { state: 'busy' }, value: pool.totalCount - pool.idleCount },
      { labels: { state: 'idle' }, value: pool.idleCount },
    ],
  })
  createUnlabeledGauge(registry, {
    name: 'database_connections_max',
    help: 'Connections to PostgreSQL that this process may hold',
    read: async () => pool.options.max,
  })
  createUnlabeledGauge(registry, {
    name: 'database_waiting_calls',
    help: 'Calls in this process that wait for a connection to PostgreSQL',
    read: async () => pool.waitingCount,
  })
}
