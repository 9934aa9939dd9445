import { sql } from 'drizzle-orm'
import { boolean, index, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export const webhooks = tenantTable(
  'webhooks',
  {
    id: id('whk').notNull(),
    url: text().notNull(),
    eventTypes: text().array().notNull(),
    enabled: boolean().notNull().default(true),
    /** Why the worker disabled it; null when it is enabled, or when a user disabled it. */
    disabledReason: text(),
    encryptedSecret: text().notNull(),
    /** Secrets that were replaced and sign beside the present one `until` then. */
    formerSecrets: jsonb().$type<{ encrypted: string; until: string }[]>().notNull().default([]),
    /** To everyone but the worker it is gone; the worker takes what hangs on it away, a little at a time. */
    deletedAt: timestamptz(),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('webhooks_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('webhooks_deleted_index').on(t.deletedAt).where(sql`${t.deletedAt} is not null`),
    ],
  },
)

/**
 * The drain of each webhook: the job that owns its backlog, the deliveries which that has out, and the state of the
 * receiver. Apart from `webhooks`, as it changes with each batch of deliveries.
 */
export const webhookDrains = tenantTable(
  'webhook_drains',
  {
    webhookId: id('whk').notNull(),
    /** The worker that owns the backlog, and its claim, which is renewed with each batch; null: it is unclaimed. */
    workerId: uuid(),
    token: uuid(),
    /** The deliveries that may be out at this moment: what is INTERRUPTED if the worker dies. */
    deliveryIds: uuid().array().notNull().default([]),
    takenAt: timestamptz(),
    /** Attempts in a row that got no response. */
    unreachableCount: integer().notNull().default(0),
    pausedUntil: timestamptz(),
    lastSuccessAt: timestamptz(),
    lastFailureAt: timestamptz(),
    /** The first failure since the last success, and how many attempts have failed since. */
    failingSince: timestamptz(),
    failureCount: integer().notNull().default(0),
    /** When owners and admins got an email about it; null again after a success. */
    warnedAt: timestamptz(),
  },
  {
    key: ['webhookId'],
    ownedBy: { webhookId: webhooks },
    extra: (t) => [
      index('webhook_drains_worker_index').on(t.workerId).where(sql`${t.workerId} is not null`),
      index('webhook_drains_failing_index').on(t.failingSince).where(sql`${t.failingSince} is not null`),
    ],
  },
)

export const deliveryStatuses = ['PENDING', 'SUCCEEDED', 'FAILED', 'INTERRUPTED'] as const

/**
 * In partitions by the time in its ids, see `partitions.ts`. PENDING rows are the queue of their webhook. Few indexes, as
 * every delivery is written twice: all filters of the log go by the key, but for failures.
 */
export const deliveries = tenantTable(
  'deliveries',
  {
    id: id('dlv').notNull(),
    webhookId: id('whk').notNull(),
    /** No foreign key: no partition of events could be dropped. A statement that adds a row locks its event, or makes it. */
    eventId: id('evt').notNull(),
    eventType: text().notNull(),
    status: text({ enum: deliveryStatuses }).notNull().default('PENDING'),
    /** The worker that died during the attempt of an INTERRUPTED one. */
    workerId: uuid(),
    attemptedAt: timestamptz(),
    durationMs: integer(),
    responseStatus: integer(),
    responseBody: text(),
    error: text(),
    /** The request that caused it, for logs and traces. */
    requestId: text(),
    traceparent: text(),
    createdAt: createdAt(),
  },
  {
    key: ['webhookId', 'id'],
    ownedBy: { webhookId: webhooks },
    extra: (t) => [
      // By `created_at`, which no other index has, so that no plan can prefer another and step over all that is done.
      index('deliveries_pending_index')
        .on(t.workspaceId, t.webhookId, t.createdAt, t.id)
        .where(sql`${t.status} = 'PENDING'`),
      index('deliveries_failed_index')
        .on(t.workspaceId, t.webhookId, t.id)
        .where(sql`${t.status} in ('FAILED', 'INTERRUPTED')`),
      oneOf('deliveries_status_check', t.status, deliveryStatuses),
    ],
  },
)
