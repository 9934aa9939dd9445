import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { moment, createdAt, id } from './columns.ts'
import { workspaces } from './workspaces.ts'

/** What is still to be done: a row for each piece of work, under the id of its subject, until the outcome is recorded. */
export const outbox = pgTable(
  'outbox',
  {
    id: uuid().primaryKey(),
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    queue: text().notNull(),
    /** Work of one lane is handed over a few pieces at a time, the rest waits here. A delivery's is its webhook. */
    lane: uuid(),
    /** The life of the queue's store in which this was handed over; null: not yet. See the worker's relay. */
    relayedEpoch: text(),
    relayedAt: moment(),
    relays: integer().notNull().default(0),
    /** The request that asked for this, as logs and traces know it. */
    requestId: text(),
    traceparent: text(),
    createdAt: createdAt(),
  },
  (t) => [
    index('outbox_waiting_index').on(t.createdAt).where(sql`${t.relayedEpoch} is null and ${t.lane} is null`),
    index('outbox_lane_index')
      .on(t.lane, t.createdAt, t.id)
      .where(sql`${t.relayedEpoch} is null and ${t.lane} is not null`),
    index('outbox_busy_index')
      .on(t.workspaceId, t.lane)
      .where(sql`${t.relayedEpoch} is not null and ${t.lane} is not null`),
    index('outbox_epoch_index').on(t.relayedEpoch, t.relayedAt).where(sql`${t.relayedEpoch} is not null`),
    // What the one of busy lanes leaves out: else a plan may count what is handed over by reading all that waits.
    index('outbox_rest_index').on(t.workspaceId).where(sql`${t.relayedEpoch} is null or ${t.lane} is null`),
  ],
)

/** The worker processes that are alive. One that has not been seen for a while is dead, and what it had in hand is interrupted. */
export const workers = pgTable('workers', {
  id: uuid().primaryKey(),
  host: text().notNull(),
  startedAt: createdAt(),
  seenAt: createdAt(),
})
