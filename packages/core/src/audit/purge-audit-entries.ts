import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import type { Retention } from '../kernel/retention.ts'

const batchSize = 1_000

/** Deletes a batch of audit entries that are older than their retention. Returns their number. */
export async function purgeAuditEntries(db: Db, { auditDays }: Retention): Promise<number> {
  if (auditDays === 0) return 0
  const result = await db.execute(sql`
    delete from audit_entries where (workspace_id, id) in (
      select workspace_id, id from audit_entries where created_at < now() - ${auditDays} * interval '1 day'
      order by created_at limit ${batchSize})`)
  return result.rowCount ?? 0
}
