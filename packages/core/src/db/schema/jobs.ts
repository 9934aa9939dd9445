import { index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, id } from './columns.ts'
import { workspaces } from './workspaces.ts'

/** Work that is not done yet: a row per job, under the id of its subject. A delivery needs none: its own row is the work. */
export const outbox = pgTable(
  'outbox',
  {
    id: uuid().primaryKey(),
    workspaceId: id('wsp')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    queue: text().notNull(),
    /** When its job was last added to the queue; null: not yet. In the future: not before then, see `delayWork`. */
    publishedAt: timestamptz(),
    /** The request that asked for this, for logs and traces. */
    requestId: text(),
    traceparent: text(),
    createdAt: createdAt(),
    /** APIs of the release before write these two, and `relays`; the next release drops them. */
    lane: uuid(),
    relayedEpoch: text(),
    relayedAt: timestamptz(),
    relays: integer().notNull().default(0),
  },
  (t) => [index('outbox_publishing_index').on(t.queue, t.workspaceId, t.createdAt, t.id)],
)

/** The worker processes that are alive. One that has not been seen for a while is dead, and what it had in hand is interrupted. */
export const workers = pgTable('workers', {
  id: uuid().primaryKey(),
  host: text().notNull(),
  startedAt: createdAt(),
  seenAt: createdAt(),
})
