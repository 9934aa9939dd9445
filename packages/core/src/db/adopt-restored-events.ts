import { sql } from 'drizzle-orm'
import type { Db } from './client.ts'

/**
 * Resets transaction ids that were restored from a dump of another server. The feed withholds events with a transaction
 * id that this server has not reached yet. With id 0 they come first in the feed, in the order of their event ids.
 */
export async function adoptRestoredEvents(db: Db): Promise<void> {
  await db.execute(sql`
    update events set transaction_id = '0' where transaction_id >= pg_snapshot_xmax(pg_current_snapshot())`)
}
