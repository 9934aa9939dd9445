import { sql } from 'drizzle-orm'
import { index, json, text } from 'drizzle-orm/pg-core'
import { transactionId, createdAt, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

/** Partitioned by the timestamp in the ids, like deliveries: see `partitions.ts`. */
export const events = tenantTable(
  'events',
  {
    id: id('evt').notNull(),
    type: text().notNull(),
    /** The record as the API shows it. `json`, not `jsonb`, keeps the order of its fields. */
    data: json().notNull(),
    /** The contact whose timeline shows the event. No foreign key: events outlive contacts. */
    contactId: id('con'),
    /** The company whose timeline shows the event, as `contactId`. */
    companyId: id('cpy'),
    /** The transaction that emitted the event: its position in the feed, see `webhooks/event-feed.ts`. */
    transactionId: transactionId().notNull().default(sql`pg_current_xact_id()`),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('events_created_index').on(t.createdAt),
      // Ends with the type, so that a filter by type skips rows without reading them.
      index('events_feed_index').on(t.workspaceId, t.transactionId, t.id, t.type),
      index('events_contact_index')
        .on(t.workspaceId, t.contactId, t.createdAt, t.id)
        .where(sql`${t.contactId} is not null`),
      index('events_company_index')
        .on(t.workspaceId, t.companyId, t.createdAt, t.id)
        .where(sql`${t.companyId} is not null`),
      // The events of a deal whose contact was erased: they belong to no timeline.
      index('events_deal_index')
        .on(t.workspaceId, sql`(${t.data} ->> 'id')`)
        .where(sql`${t.contactId} is null and ${t.type} like 'deal.%'`),
    ],
  },
)
