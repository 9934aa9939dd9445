/**
 * The event feed. A client that resumes after the last event that it has read misses no event, regardless of concurrent
 * transactions.
 *
 * The feed cannot be in the order of times or ids: both are chosen before the commit, so a slow transaction may commit
 * an event with a smaller id after a client has read past it. So each event has the id of its transaction, and the feed
 * is in the order of (transaction id, event id). It ends before the oldest running transaction: all transactions with
 * smaller ids have ended, so no event can be added among theirs, and new transactions get greater ids.
 *
 * The disadvantage: a long transaction delays all newer events. PostgreSQL ends a transaction of the API or the worker
 * that is idle for ten seconds. The snapshot also includes transactions of other databases on the server; the query
 * recognizes them by their locks and ignores them. If the database of a transaction cannot be determined, the
 * transaction delays the feed.
 */
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { invalidField, notFound } from '../kernel/errors.ts'
import { type EventId, uuidOf } from '../kernel/ids.ts'
import { type Page, readPage } from '../request/paging.ts'
import { selectMergedIds } from '../contacts/contact-aliases.ts'
import { isCreatedInRange, isIdInRange } from '../request/time-range.ts'
import { events } from '../db/schema/index.ts'
import type { Event } from './event-feed.schema.ts'
import { eventNotFound, type EventQuery } from './deliveries.schema.ts'
import { type Timestamp, timestampAt } from '../kernel/values/timestamps.ts'
import { type FeedPosition, type FeedRow, isBeforeRunning, readUnfilteredEvents } from './unfiltered-events.ts'

/** Lists a page of the feed: newest first, or, with `after`, the events after that event, oldest first. */
export async function listEvents(ctx: Ctx, query: EventQuery): Promise<Page<Event>> {
  const { after, type, contactId } = query
  if (after !== undefined && query.sort === '-createdAt')
    throw invalidField('sort', 'sort: must be createdAt if after is set')
  const known = after === undefined ? undefined : await findPosition(ctx, after)
  const sort = query.sort ?? (known ? 'createdAt' : '-createdAt')
  const page = await readPage<FeedRow>(ctx, {
    name: `events ${after ?? ''} ${type?.join() ?? ''} ${contactId ?? ''}`,
    query: { ...query, sort },
    key: { column: events.transactionId, type: 'xid8', valueOf: (row) => row.transactionId },
    id: { column: events.id, valueOf: (row) => row.id },
    read: ({ position = known, after: cursor, orderBy, limit }) => {
      if (isUnfiltered(query))
        return readUnfilteredEvents(ctx, { position, isDescending: sort === '-createdAt', limit })
      return ctx.db
        .select()
        .from(events)
        .where(
          and(
            eq(events.workspaceId, ctx.workspaceId),
            isBeforeRunning,
            cursor ??
              (known && sql`(${events.transactionId}, ${events.id}) > (${known.key}::xid8, ${known.uuid}::uuid)`),
            type && inArray(events.type, type),
            contactId && sql`${events.contactId} in (${selectMergedIds(ctx, contactId)})`,
            isEventInRange(query),
          ),
        )
        .orderBy(...orderBy)
        .limit(limit)
    },
  })
  return { ...page, data: page.data.map(toEvent) }
}

/** Whether a query requests all events: that of a client that follows the feed. */
const isUnfiltered = ({ type, contactId, createdAfter, createdBefore }: EventQuery) =>
  (type ?? contactId ?? createdAfter ?? createdBefore) === undefined

/** Reads one event. */
export async function readEvent(ctx: Ctx, id: EventId): Promise<Event> {
  const row = await findEvent(ctx, id)
  if (!row) throw notFound('Event')
  return toEvent(row)
}

const hourMs = 3_600_000
const addHours = (date: Timestamp | undefined, hours: number) => date && timestampAt(Date.parse(date) + hours * hourMs)

/**
 * The range is one of timestamps. The range of ids, which is wider by an hour, limits the partitions and index entries
 * that are read: the timestamp of an event is the start of its transaction, and its id is created during it.
 */
function isEventInRange({ createdAfter, createdBefore }: EventQuery) {
  return and(
    isCreatedInRange(events, { createdAfter, createdBefore }),
    isIdInRange(events, { createdAfter: addHours(createdAfter, -1), createdBefore: addHours(createdBefore, 1) }),
  )
}

async function findPosition(ctx: Ctx, id: EventId): Promise<FeedPosition> {
  const row = await findEvent(ctx, id)
  if (!row) throw invalidField('after', eventNotFound)
  return { key: row.transactionId, uuid: uuidOf(row.id) }
}

async function findEvent(ctx: Ctx, id: EventId): Promise<FeedRow | undefined> {
  const [row] = await ctx.db
    .select()
    .from(events)
    .where(and(eq(events.workspaceId, ctx.workspaceId), eq(events.id, id)))
  return row
}

function toEvent(row: FeedRow): Event {
  return { id: row.id, type: row.type, timestamp: row.createdAt, data: row.data }
}
