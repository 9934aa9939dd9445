/**
 * The statuses of a delivery. The drain of its workspace takes it with the token of its row of `work`, which names the
 * deliveries that are in flight.
 *
 * | delivery    | from         | when                                                                            |
 * |-------------|--------------|---------------------------------------------------------------------------------|
 * | PENDING     |              | inserted with its event, or redelivered; in flight or not                       |
 * | SUCCEEDED   | PENDING      | the receiver responded with 2xx                                                 |
 * |             | INTERRUPTED  | the same, recorded late                                                         |
 * | FAILED      | PENDING      | another response or none; expired; its webhook was disabled                     |
 * |             | INTERRUPTED  | the same, recorded late                                                         |
 * | INTERRUPTED | PENDING      | may have been sent: crash during the attempt, restored backup                   |
 */
import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, json, jsonb, text, uuid } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, jsonPath, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export type FilterValue = string | number | boolean | null

/** All conditions must hold: one of the fields `changed` has changed, and each named field has one of its values. */
export interface EventFilter {
  changed?: string[] | undefined
  [field: string]: { eq: FilterValue } | { in: FilterValue[] } | string[] | undefined
}

export const webhooks = tenantTable(
  'webhooks',
  {
    id: id('whk').notNull(),
    url: text().notNull(),
    eventTypes: text().array().notNull(),
    /** As the API shows it, and as a jsonpath that `emit` compares with an event: see `events/event-filter.ts`. */
    filter: json().$type<EventFilter>(),
    filterPath: jsonPath(),
    enabled: boolean().notNull().default(true),
    /** Why the worker disabled the webhook; null if it is enabled or a user disabled it. */
    disabledReason: text(),
    encryptedSecret: text().notNull(),
    /** Replaced secrets. Until `until`, deliveries are signed with them as well. */
    formerSecrets: jsonb().$type<{ encrypted: string; until: string }[]>().notNull().default([]),
    /** Soft delete: the worker deletes the deliveries in small batches, then the row. */
    deletedAt: timestamptz(),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('webhooks_created_index').on(t.workspaceId, t.createdAt, t.id),
      check('webhooks_filter_check', sql`(${t.filter} is null) = (${t.filterPath} is null)`),
      index('webhooks_deleted_index').on(t.deletedAt).where(sql`${t.deletedAt} is not null`),
    ],
  },
)

/**
 * The health of each webhook, from the outcomes of its deliveries. Separate from `webhooks`, because it changes with each
 * batch of deliveries.
 */
export const webhookHealth = tenantTable(
  'webhook_health',
  {
    webhookId: id('whk').notNull(),
    /** Consecutive rounds of attempts without a response, see `circuit-breaker.ts`. */
    unreachableCount: integer().notNull().default(0),
    pausedUntil: timestamptz(),
    lastSuccessAt: timestamptz(),
    lastFailureAt: timestamptz(),
    /** The first failure since the last success, or since deliveries could last not be signed. */
    failingSince: timestamptz(),
    /** The failed attempts since then. */
    failureCount: integer().notNull().default(0),
    /** When owners and admins were notified by email; reset with `failureCount`. */
    warnedAt: timestamptz(),
  },
  {
    key: ['webhookId'],
    ownedBy: { webhookId: webhooks },
    extra: (t) => [index('webhook_health_failing_index').on(t.failingSince).where(sql`${t.failingSince} is not null`)],
  },
)

export const deliveryStatuses = ['PENDING', 'SUCCEEDED', 'FAILED', 'INTERRUPTED'] as const

/**
 * Partitioned by the timestamp in the ids, see `partitions.ts`. The PENDING rows are the queue of their workspace. Every
 * delivery is written twice, so there are few indexes: filters of the delivery log use the primary key, except those
 * for failures.
 */
export const deliveries = tenantTable(
  'deliveries',
  {
    id: id('dlv').notNull(),
    webhookId: id('whk').notNull(),
    /** No foreign key: it would prevent dropping partitions of events. Inserts lock or create the event instead. */
    eventId: id('evt').notNull(),
    eventType: text().notNull(),
    /** Whether a user repeated the event. Its first delivery has no mark, and is its oldest. */
    isRedelivery: boolean().notNull().default(false),
    status: text({ enum: deliveryStatuses }).notNull().default('PENDING'),
    /** The worker that crashed during the attempt of an INTERRUPTED delivery. */
    workerId: uuid(),
    attemptedAt: timestamptz(),
    durationMs: integer(),
    responseStatus: integer(),
    responseBody: text(),
    error: text(),
    /** The request that caused the delivery, for logs and traces. */
    requestId: text(),
    traceparent: text(),
    createdAt: createdAt(),
  },
  {
    key: ['webhookId', 'id'],
    ownedBy: { webhookId: webhooks },
    extra: (t) => [
      // Sorted by `created_at`: no other index has this order, so no plan can use one that also contains done rows.
      index('deliveries_pending_index')
        .on(t.workspaceId, t.webhookId, t.createdAt, t.id)
        .where(sql`${t.status} = 'PENDING'`),
      index('deliveries_failed_index')
        .on(t.workspaceId, t.webhookId, t.id)
        .where(sql`${t.status} in ('FAILED', 'INTERRUPTED')`),
      index('deliveries_redelivery_index').on(t.workspaceId, t.webhookId, t.eventId).where(sql`${t.isRedelivery}`),
      oneOf('deliveries_status_check', t.status, deliveryStatuses),
    ],
  },
)
