import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import type { Retention } from '../kernel/retention.ts'

const batchSize = 1_000

/** Deletes a batch of imports that ended before their retention. Returns their number. */
export async function purgeFinishedImports(db: Db, { importsDays }: Retention): Promise<number> {
  if (importsDays === 0) return 0
  const result = await db.execute(sql`
    delete from imports where (workspace_id, id) in (
      select workspace_id, id from imports
      where status in ('COMPLETED', 'FAILED', 'CANCELED') and completed_at < now() - ${importsDays} * interval '1 day'
      limit ${batchSize})`)
  return result.rowCount ?? 0
}
