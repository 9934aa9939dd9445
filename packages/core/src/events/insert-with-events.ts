/**
 * Creates records, each with its event, by one statement. Creates of one workspace that arrive together share it. Kept for
 * speed: FIGURE (bench `create`, 2026-11-22).
 */
import { sql, type SQL } from 'drizzle-orm'
import { memoizePerDb } from '../db/client.ts'
import type { JsonRows } from '../db/json-rows.ts'
import { type Params, preparedSql } from '../db/prepared-query.ts'
import { isInTransaction } from '../db/transaction.ts'
import { isRowSpecificError } from '../kernel/errors.ts'
import { type IdOf, type IdPrefix, uuidOf } from '../kernel/ids.ts'
import { microBatch } from '../kernel/micro-batch.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emitMembers, type EventParams, isSubscribed, toEventParams } from './emit.ts'
import type { EventDefinition, EventSubject } from './event-definition.ts'

interface Creation<Row, Data extends EventSubject> {
  into: JsonRows<Row>
  event: EventDefinition<Data>
  /** The record as the event and the response have it. */
  toData: (row: Row) => NoInfer<Data>
  /** The order of the rows, where two statements could otherwise deadlock. */
  orderBy?: SQL
  references?: References<Row>
}

/** What the rows refer to, which is locked before they are written. */
interface References<Row> {
  of: (row: Row) => readonly string[]
  /**
   * Returns those of the rows' references that exist and are locked now. With `skipLocked` it does not wait for another
   * transaction, and leaves out what that has locked.
   */
  lock: (ctx: Ctx, rows: readonly Row[], options: { skipLocked: boolean }) => Promise<ReadonlySet<string>>
}

/** Deferred: the row has to be inserted by itself, where it waits for locks and an error is its own. */
type Outcome = 'inserted' | 'conflict' | 'deferred'

/**
 * Makes the function that creates one kind of record: it inserts a complete row and emits its event, both or neither. It
 * returns whether it did: not when a unique key is taken or a reference is missing. In the caller's transaction, if there
 * is one. A row that the database refuses, or that has to wait for a lock, neither fails nor delays the others of a batch.
 */
export function insertWithEvents<Row extends { id: IdOf<IdPrefix> }, Data extends EventSubject>({
  into,
  event,
  toData,
  orderBy = sql`id`,
  references = { of: () => [], lock: () => Promise.resolve(new Set()) },
}: Creation<Row, Data>): (ctx: Ctx, row: Row) => Promise<boolean> {
  interface Request {
    ctx: Ctx
    row: Row
  }
  const insert = prepareInsert(into, orderBy)

  async function insertBatch(requests: Request[]): Promise<Outcome[]> {
    const [first] = requests
    if (!first) return []
    const needsLock = requests.some(({ row }) => references.of(row).length > 0)
    const run = needsLock
      ? inTransaction(first.ctx, (ctx) => insertLocked(ctx, requests))
      : insertAll(first.ctx, requests)
    return run.catch((error: unknown) => {
      if (requests.length > 1 && isRowSpecificError(error)) return requests.map(() => 'deferred')
      throw error
    })
  }

  async function insertLocked(ctx: Ctx, requests: readonly Request[]): Promise<Outcome[]> {
    const rows = requests.map(({ row }) => row)
    const locked = await references.lock(ctx, rows, { skipLocked: rows.length > 1 })
    const isLocked = ({ row }: Request) => references.of(row).every((reference) => locked.has(reference))
    const outcomes = await insertAll(ctx, requests.filter(isLocked))
    return requests.map((request) => (isLocked(request) ? (outcomes.shift() ?? 'deferred') : 'deferred'))
  }

  async function insertAll(ctx: Ctx, requests: readonly Request[]): Promise<Outcome[]> {
    if (requests.length === 0) return []
    const rows = requests.map(({ row }) => row)
    const records = requests.map(({ ctx, row }) => ({ data: toData(row), origin: ctx }))
    const inserted = await insert(ctx.db, {
      ...toEventParams(ctx, event.type, records),
      rows: into.stringify(rows),
      ids: rows.map(({ id }) => uuidOf(id)),
    })
    const ids = new Set(inserted.map(({ id }) => id))
    return rows.map(({ id }) => (ids.has(uuidOf(id)) ? 'inserted' : 'conflict'))
  }

  const insertInBatch = memoizePerDb(() => microBatch(insertBatch, ({ ctx }) => ctx.workspaceId))

  return async (ctx, row) => {
    const request = { ctx, row }
    if (isInTransaction(ctx.db)) return (await insertLocked(ctx, [request]))[0] === 'inserted'
    const outcome = await insertInBatch(ctx.db)(request)
    return (outcome === 'deferred' ? (await insertBatch([request]))[0] : outcome) === 'inserted'
  }
}

interface InsertParams extends EventParams {
  /** JSON of complete rows. */
  rows: string
  /** The UUIDs of the rows, in the order of the events. */
  ids: string[]
}

/** Returns the UUIDs of the rows that it wrote: a row that conflicts with a unique key is left out, with its event. */
function prepareInsert<Row>({ table, names, from }: JsonRows<Row>, orderBy: SQL) {
  return preparedSql<InsertParams, { id: string }>(
    `create ${table}`,
    (param: Params<InsertParams>) => sql`
      -- Before the table of events: the order in which the upkeep of partitions locks the tables.
      with workspace as (
        select id from workspaces where id = ${param('workspaceId')}::uuid for key share),
      inserted as (
        insert into ${sql.identifier(table)} (${names})
        select ${names} from ${from(param('rows'), 'complete')} where exists (select from workspace) order by ${orderBy}
        on conflict do nothing
        returning id),
      record as (
        select uuidv7() as id, given.*
        from inserted join unnest(${param('ids')}::uuid[], ${param('data')}::text[], ${param('contactIds')}::uuid[],
          ${param('requestIds')}::text[], ${param('traceparents')}::text[])
          as given (record_id, data, contact_id, request_id, traceparent) on given.record_id = inserted.id),
      ${emitMembers(param, isSubscribed(param))}
      select inserted.id from inserted left join notified on true`,
  )
}
