import { sql } from 'drizzle-orm'
import type { Db } from './client.ts'

/**
 * A dump that was restored elsewhere brings transaction numbers of another server: by these the feed would hold its
 * events back until the new server's count has caught up. They become the oldest of all, in the order of their ids.
 */
export async function adoptRestoredEvents(db: Db): Promise<void> {
  await db.execute(sql`
    update events set transaction_id = '0' where transaction_id >= pg_snapshot_xmax(pg_current_snapshot())`)
}
