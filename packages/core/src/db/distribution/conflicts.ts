/**
 * Conflicts of concurrent transactions over tables that are on every server, such as those of accounts. One server has
 * row locks that prevent most of them.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../client.ts'
import { isDatabaseUnavailable } from '../database-errors.ts'

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
