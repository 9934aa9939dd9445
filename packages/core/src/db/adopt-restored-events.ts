import { sql } from 'drizzle-orm'
import type { Db } from './client.ts'
import { events } from './schema/index.ts'
import { namedStatement } from './statements/named-statement.ts'
import { bool } from './statements/sql-types.ts'

/**
 * Resets the transaction ids of all events if some were restored from a dump of another server. The feed withholds events
 * with a transaction id that this server has not reached yet, and older ones of the same dump may have ids that it has
 * reached. With id 0 all come first in the feed, in the order of their event ids. The update is one statement: the next
 * migration would not find the rest of one that is half done.
 */
export async function adoptRestoredEvents(db: Db): Promise<void> {
  const [newest] = await findNewest(db)
  const [compared] = newest ? await compareWithServer(db, newest) : []
  if (compared?.isRestored) await db.execute(sql`update events set transaction_id = '0' where transaction_id <> '0'`)
}

const { transactionId } = events

const findNewest = namedStatement('find the newest transaction of the events', {
  columns: { transactionId },
  sql: () => sql`select transaction_id from events order by transaction_id desc limit 1`,
})

/**
 * Whether this server has not reached a transaction id. Runs after the id was read, so that this transaction has a greater
 * one than those that were reached. Without a table, because a cluster would use the ids of the server that has the row:
 * those of events are of the coordinator.
 */
const compareWithServer = namedStatement('compare a transaction with those of the server', {
  params: { transactionId },
  columns: { isRestored: bool },
  sql: (param) => sql`select ${param.transactionId} >= pg_current_xact_id() as is_restored`,
})
