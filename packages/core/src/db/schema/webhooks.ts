import { sql } from 'drizzle-orm'
import { boolean, index, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core'
import { moment, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export const webhooks = tenantTable(
  'webhooks',
  {
    id: id('whk').notNull(),
    url: text().notNull(),
    eventTypes: text().array().notNull(),
    enabled: boolean().notNull().default(true),
    encryptedSecret: text().notNull(),
    /** Secrets that were replaced and sign beside the present one `until` then. */
    formerSecrets: jsonb().$type<{ encrypted: string; until: string }[]>().notNull().default([]),
    /** To everyone but the worker it is gone; the worker takes what hangs on it away, a little at a time. */
    deletedAt: moment(),
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

export const deliveryStatuses = ['PENDING', 'SENDING', 'SUCCEEDED', 'FAILED', 'INTERRUPTED'] as const

export const deliveries = tenantTable(
  'deliveries',
  {
    id: id('dlv').notNull(),
    webhookId: id('whk').notNull(),
    /** No foreign key: no partition of events could be dropped. Who adds a row locks its event, or makes it. */
    eventId: id('evt').notNull(),
    eventType: text().notNull(),
    status: text({ enum: deliveryStatuses }).notNull().default('PENDING'),
    workerId: uuid(),
    attemptedAt: moment(),
    durationMs: integer(),
    responseStatus: integer(),
    responseBody: text(),
    error: text(),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    ownedBy: { webhookId: webhooks },
    extra: (t) => [
      // What filters ask for is at its end, so that they pass over the rest without a look at the rows.
      index('deliveries_webhook_index').on(t.workspaceId, t.webhookId, t.createdAt, t.id, t.eventType, t.status),
      index('deliveries_event_index').on(t.workspaceId, t.eventId),
      index('deliveries_worker_index').on(t.workerId).where(sql`${t.status} = 'SENDING'`),
      oneOf('deliveries_status_check', t.status, deliveryStatuses),
    ],
  },
)
