import { index, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, id } from './columns.ts'
import { workspaces } from './workspaces.ts'

/**
 * Unfinished work: one row per job, with the id of its subject. Deliveries need none: their PENDING rows are the queue.
 */
export const outbox = pgTable(
  'outbox',
  {
    id: uuid().notNull(),
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    queue: text().notNull(),
    /** When a job was last added to the queue; null: never. A future time delays publishing, see `delayWork`. */
    publishedAt: timestamptz(),
    /** The request that caused this work, for logs and traces. */
    requestId: text(),
    traceparent: text(),
    createdAt: createdAt(),
    /** Unused from here on. Every INSERT of a release names all columns of its schema, so the database keeps them. */
    lane: uuid(),
    relayedEpoch: text(),
    relayedAt: timestamptz(),
    relays: integer().notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.id] }),
    index('outbox_publishing_index').on(t.queue, t.workspaceId, t.createdAt, t.id),
  ],
)

/** The registered workers. A worker without a recent heartbeat has crashed, and its claims are recovered. */
export const workers = pgTable('workers', {
  id: uuid().primaryKey(),
  host: text().notNull(),
  startedAt: createdAt(),
  seenAt: createdAt(),
  /** The clock of the worker at its heartbeat; null from a release that does not record it. */
  clockAt: timestamptz(),
})
