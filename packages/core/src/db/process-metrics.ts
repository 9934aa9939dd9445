import { sql } from 'drizzle-orm'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import { createUnlabeledGauge, createGauge, createUpGauge } from '../runtime/metrics.ts'
import type { Database } from './client.ts'

/** Registers the metrics of Node and of the connections to PostgreSQL. */
export function registerProcessMetrics(registry: Registry, { db, pool }: Pick<Database, 'db' | 'pool'>): void {
  collectDefaultMetrics({ register: registry })
  createUpGauge(registry, {
    name: 'database_up',
    help: 'Whether this process can reach PostgreSQL',
    check: () => db.execute(sql`select 1`),
  })
  createGauge(registry, {
    name: 'database_connections',
    help: 'Open connections of this process to PostgreSQL',
    labelNames: ['state'],
    read: async () => [
      { labels: { state: 'busy' }, value: pool.totalCount - pool.idleCount },
      { labels: { state: 'idle' }, value: pool.idleCount },
    ],
  })
  createUnlabeledGauge(registry, {
    name: 'database_connections_max',
    help: 'Maximum number of connections of this process to PostgreSQL',
    read: async () => pool.options.max,
  })
  createUnlabeledGauge(registry, {
    name: 'database_waiting_calls',
    help: 'Calls of this process that wait for a connection to PostgreSQL',
    read: async () => pool.waitingCount,
  })
}
