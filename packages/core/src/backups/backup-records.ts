/** The record of each complete backup, for the metric of their age and for `rapport doctor`. */
import { desc, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { nullable, text } from '../db/statements/sql-types.ts'
import { backups } from '../db/schema/index.ts'

export type BackupRecord = typeof backups.$inferSelect

/** Enough for a year of daily backups. */
const maxRecords = 400

/** Records a complete backup and removes the oldest records. Returns false if the table does not exist yet. */
export async function recordBackup(db: Db, record: BackupRecord): Promise<boolean> {
  // A backup may be made before the migration that creates the table, as a precaution before an upgrade.
  const [table] = await findTable(db)
  if (!table?.name) return false
  await db.insert(backups).values(record).onConflictDoNothing()
  await db.execute(sql`
    delete from backups where created_at <
      (select min(created_at) from (select created_at from backups order by created_at desc limit ${maxRecords}) newest)`)
  return true
}

const findTable = namedStatement('find the table of backups', {
  columns: { name: nullable(text) },
  sql: () => sql`select to_regclass('backups')::text as name`,
})

/** The newest complete backup with its age in seconds; undefined if there is none. */
export async function findNewestBackup(db: Db): Promise<(BackupRecord & { ageSeconds: number }) | undefined> {
  const [newest] = await db
    .select({ backup: backups, ageSeconds: sql<number>`extract(epoch from now() - ${backups.createdAt})::float8` })
    .from(backups)
    .orderBy(desc(backups.createdAt))
    .limit(1)
  return newest && { ...newest.backup, ageSeconds: newest.ageSeconds }
}
