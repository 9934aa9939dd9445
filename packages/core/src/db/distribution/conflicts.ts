/**
 * Conflicts of concurrent transactions over tables that are on every server, such as those of accounts. One server has
 * row locks that prevent most of them.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../client.ts'
import { hasSqlState, isDatabaseUnavailable } from '../database-errors.ts'
import { isInTransaction, transaction } from '../transaction.ts'

const deadlock = '40P01'
const maxAttempts = 6

/**
 * Runs `work` in a transaction, and repeats it after a deadlock, unless `db` is in a transaction: a change of such a table
 * locks the whole table, so that transactions of several workspaces can deadlock. `work` must have no other effects.
 */
export async function repeatAfterDeadlock<Result>(db: Db, work: (db: Db) => Promise<Result>): Promise<Result> {
  const attempts = isInTransaction(db) ? 1 : maxAttempts
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction(db, work)
    } catch (error) {
      if (attempt === attempts || !hasSqlState(error, [deadlock])) throw error
      // A random pause, so that the same transactions do not meet again.
      await pause(Math.random() * 200 * attempt)
    }
  }
}

/** Makes inserts of the same unique value take turns until the transaction ends: concurrent ones would deadlock. */
export async function lockUniqueValue(db: Db, value: SQL): Promise<void> {
  await db.execute(sql`select pg_advisory_xact_lock(hashtextextended(${value}, 0))`)
}

/** For a write that a request can do without: it fails while any server is down, and a read of another need not. */
export async function ignoreUnavailability(write: PromiseLike<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
  }
}
