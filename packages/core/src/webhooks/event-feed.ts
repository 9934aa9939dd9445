/**
 * The feed of what happened, in an order that a reader can rely on: who has read up to an event and reads on after it
 * misses nothing, whatever was being written at that moment.
 *
 * Neither times nor ids give that. Both are chosen before the commit, so that a slow transaction commits an event with a
 * smaller id than one that was read long ago. So an event carries the number of its transaction, which costs its writer
 * nothing, and the feed is in the order of (transaction, id). It ends before the oldest transaction that is still
 * running: all with smaller numbers are over, so nothing can appear among them any more, and all to come have greater
 * numbers. The price is that a transaction which takes long keeps the newest events back until its end. The server ends
 * those of the API and the worker after ten seconds of idleness; and those of other databases, which its snapshot also
 * knows, are told apart by their locks. One that cannot be told is taken for ours.
 */
import { and, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { invalidField, notFound } from '../kernel/errors.ts'
import { toTimestamp } from '../kernel/validation.ts'
import type { EventId } from '../kernel/ids.ts'
import { type Page, readPage } from '../request/paging.ts'
import { events } from '../db/schema/index.ts'
import type { Event } from './event-feed.schema.ts'
import type { EventQuery } from './deliveries.schema.ts'

const oldestRunningTransaction = sql`
  select coalesce(min(running), pg_snapshot_xmax(pg_current_snapshot()))
  from pg_snapshot_xip(pg_current_snapshot()) as running
  where not exists (
    select from pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted
      and l.transactionid = running::xid and a.datname <> current_database())`

type EventRow = typeof events.$inferSelect

/** A page of the feed: the newest first, unless it is read on `after` an event, which the oldest of the rest follows. */
export async function listEvents(ctx: Ctx, query: EventQuery): Promise<Page<Event>> {
  const { after, type } = query
  if (after !== undefined && query.sort === '-createdAt')
    throw invalidField('sort', 'sort: must be createdAt with after')
  const isAfterStart = after === undefined ? undefined : await createIsAfter(ctx, after)
  const page = await readPage<EventRow>(ctx, {
    name: `events ${after ?? ''} ${type ?? ''}`,
    query: { ...query, sort: query.sort ?? (isAfterStart ? 'createdAt' : '-createdAt') },
    key: { column: events.transactionId, type: 'xid8', valueOf: (row) => row.transactionId },
    id: { column: events.id, valueOf: (row) => row.id },
    read: ({ after: cursor, orderBy, limit }) =>
      ctx.db
        .select()
        .from(events)
        .where(
          and(
            eq(events.workspaceId, ctx.workspaceId),
            sql`${events.transactionId} < (${oldestRunningTransaction})`,
            isAfterStart,
            cursor,
            type === undefined ? undefined : eq(events.type, type),
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toEvent) }
}

/** Reads one event. */
export async function readEvent(ctx: Ctx, id: EventId): Promise<Event> {
  const row = await findEvent(ctx, id)
  if (!row) throw notFound('Event')
  return toEvent(row)
}

async function createIsAfter(ctx: Ctx, id: EventId) {
  const row = await findEvent(ctx, id)
  if (!row) throw invalidField('after', 'Event not found')
  return sql`(${events.transactionId}, ${events.id}) > (${row.transactionId}::xid8, ${events.id.mapToDriverValue(id)}::uuid)`
}

async function findEvent(ctx: Ctx, id: EventId): Promise<EventRow | undefined> {
  const [row] = await ctx.db
    .select()
    .from(events)
    .where(and(eq(events.workspaceId, ctx.workspaceId), eq(events.id, id)))
  return row
}

function toEvent(row: EventRow): Event {
  return { id: row.id, type: row.type, timestamp: toTimestamp(row.createdAt), data: row.data }
}
