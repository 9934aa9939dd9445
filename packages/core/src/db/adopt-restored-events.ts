import { sql } from 'drizzle-orm'
import type { Db } from './client.ts'

/**
 * Resets the transaction ids of all events if some were restored from a dump of another server. The feed withholds events
 * with a transaction id that this server has not reached yet, and older ones of the same dump may have ids that it has
 * reached. With id 0 all come first in the feed, in the order of their event ids. The update is one statement: the next
 * migration would not find the rest of one that is half done.
 */
export async function adoptRestoredEvents(db: Db): Promise<void> {
  const restored = await db.execute(sql`
    select from events where transaction_id >= pg_snapshot_xmax(pg_current_snapshot()) limit 1`)
  if (restored.rowCount) await db.execute(sql`update events set transaction_id = '0' where transaction_id <> '0'`)
}
