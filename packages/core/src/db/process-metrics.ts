import { sql } from 'drizzle-orm'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import { figureIn, gaugeIn, upIn } from '../runtime/metrics.ts'
import type { Database } from './client.ts'

/** Node's own figures, and the connections to PostgreSQL. */
export function describeProcess(registry: Registry, { db, pool }: Pick<Database, 'db' | 'pool'>): void {
  collectDefaultMetrics({ register: registry })
  upIn(registry, {
    name: 'database_up',
    help: 'Whether PostgreSQL answers this process',
    ask: () => db.execute(sql`select 1`),
  })
  gaugeIn(registry, {
    name: 'database_connections',
    help: 'Connections to PostgreSQL that this process holds',
    labelNames: ['state'],
    read: async () => [
      { labels: { state: 'busy' }, value: pool.totalCount - pool.idleCount },
      { labels: { state: 'idle' }, value: pool.idleCount },
    ],
  })
  figureIn(registry, {
    name: 'database_connections_max',
    help: 'Connections to PostgreSQL that this process may hold',
    read: async () => pool.options.max,
  })
  figureIn(registry, {
    name: 'database_waiting_calls',
    help: 'Calls in this process that wait for a connection to PostgreSQL',
    read: async () => pool.waitingCount,
  })
}
