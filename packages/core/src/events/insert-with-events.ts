/**
 * Creates records, each with its event. Creates of one workspace that arrive together share a transaction, which is kept
 * for speed: FIGURE (bench `create`, 2026-11-22).
 */
import { memoizePerDb } from '../db/client.ts'
import type { InsertStatement } from '../db/insert-rows.ts'
import { isInTransaction } from '../db/transaction.ts'
import { isRowSpecificError } from '../kernel/errors.ts'
import { uuidOf } from '../kernel/ids.ts'
import { microBatch } from '../kernel/micro-batch.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emitRecords } from './emit.ts'
import type { EventDefinition, EventSubject } from './event-definition.ts'

interface Creation<Row, Data extends EventSubject> {
  insert: InsertStatement<Row>
  event: EventDefinition<Data>
  /** The record as the event and the response have it. */
  toData: (row: Row) => NoInfer<Data>
  /**
   * Runs first in the transaction: locks what the rows refer to, and returns the rows that can be inserted. With
   * `skipLocked` it leaves out a row whose reference another transaction has locked, and does not wait.
   */
  lockReferences?: (ctx: Ctx, rows: readonly Row[], options: { skipLocked: boolean }) => Promise<Row[]>
}

interface Request<Row> {
  ctx: Ctx
  row: Row
}

/** Deferred: the row has to be inserted by itself, where it waits for locks and an error is its own. */
type Outcome = 'inserted' | 'conflict' | 'deferred'

/**
 * Makes the function that creates one kind of record: it inserts a complete row and emits its event, both or neither. It
 * returns whether it did: not when a unique key is taken or a reference is missing. In the caller's transaction, if there
 * is one. A row that the database refuses, or that has to wait for a lock, neither fails nor delays the others of a batch.
 */
export function insertWithEvents<Row extends { id: string }, Data extends EventSubject>({
  insert,
  event,
  toData,
  lockReferences,
}: Creation<Row, Data>): (ctx: Ctx, row: Row) => Promise<boolean> {
  async function insertAll(ctx: Ctx, requests: readonly Request<Row>[]): Promise<Outcome[]> {
    const rows = requests.map(({ row }) => row)
    const lockable = lockReferences ? await lockReferences(ctx, rows, { skipLocked: rows.length > 1 }) : rows
    const ids = await insert(ctx.db, lockable)
    const isInserted = ({ id }: Row) => ids.has(uuidOf(id))
    const records = requests.flatMap(({ ctx, row }) => (isInserted(row) ? { data: toData(row), origin: ctx } : []))
    await emitRecords(ctx, event, records)
    return rows.map((row) => (isInserted(row) ? 'inserted' : lockable.includes(row) ? 'conflict' : 'deferred'))
  }

  async function insertBatch(requests: Request<Row>[]): Promise<Outcome[]> {
    const [first] = requests
    if (!first) return []
    try {
      return await inTransaction(first.ctx, (ctx) => insertAll(ctx, requests))
    } catch (error) {
      if (requests.length > 1 && isRowSpecificError(error)) return requests.map(() => 'deferred')
      throw error
    }
  }

  const batchOf = memoizePerDb(() => microBatch(insertBatch, ({ ctx }) => ctx.workspaceId))

  return async (ctx, row) => {
    const request = { ctx, row }
    if (isInTransaction(ctx.db)) return (await insertAll(ctx, [request]))[0] === 'inserted'
    const outcome = await batchOf(ctx.db)(request)
    return (outcome === 'deferred' ? (await insertBatch([request]))[0] : outcome) === 'inserted'
  }
}
