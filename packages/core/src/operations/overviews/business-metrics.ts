/** Metrics of what the users of an installation do. No label names a workspace: each would multiply the series. */
import { type SQL, sql } from 'drizzle-orm'
import type { Registry } from 'prom-client'
import { createdUsers, userOrigins } from '../../auth/users.ts'
import { engagements, recordedEngagements } from '../../campaigns/engagement.ts'
import type { Db } from '../../db/client.ts'
import { contacts, subscriptions, users, webhooks, workspaces } from '../../db/schema/index.ts'
import { emittedEvents } from '../../events/emit.ts'
import { countOrEstimate } from '../../request/count-or-estimate.ts'
import { createGauge } from '../../runtime/metrics.ts'
import { eventDefinitions } from '../webhooks/event-types.ts'
import { cacheResult } from './work-metrics.ts'

/** Registers the counters of what this process does: events, engagements and new users. */
export function registerActivityMetrics(registry: Registry, db: Db): void {
  emittedEvents.register(
    registry,
    db,
    Object.keys(eventDefinitions).map((type) => ({ type })),
  )
  recordedEngagements.register(
    registry,
    db,
    engagements.map((kind) => ({ kind })),
  )
  createdUsers.register(
    registry,
    db,
    userOrigins.map((by) => ({ by })),
  )
}

const recordsByKind: Record<string, SQL> = {
  workspaces: sql`${workspaces} where deleted_at is null`,
  users: sql`${users}`,
  contacts: sql`${contacts}`,
  confirmed_subscriptions: sql`${subscriptions} where status = 'CONFIRMED'`,
  enabled_webhooks: sql`${webhooks} where enabled and deleted_at is null`,
}

/** Registers a gauge of the records of the whole installation. */
export function registerRecordMetrics(registry: Registry, db: Db): void {
  createGauge(registry, {
    name: 'records',
    help: 'Records of the installation by kind: exact up to 10,000, then an estimate',
    labelNames: ['kind'],
    read: cacheResult(async () => {
      const samples = []
      // One statement after the other: a scrape takes one connection of the pool.
      for (const [kind, rows] of Object.entries(recordsByKind)) {
        samples.push({ labels: { kind }, value: (await countOrEstimate(db, rows)).total })
      }
      return samples
    }),
  })
}
