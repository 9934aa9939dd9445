import { type SQL, sql } from 'drizzle-orm'
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core'
import type { Db } from '../client.ts'

/** Deletes up to 1,000 rows of all workspaces that meet the condition. Returns their number. */
export function purgeRows(db: Db, table: PgTable, condition: SQL | undefined): Promise<number> {
  const { columns, primaryKeys } = getTableConfig(table)
  const key = sql.join(primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary), sql`, `)
  const purging = db.execute(sql`
    delete from ${table} where (${key}) in (select ${key} from ${table} where ${condition} limit 1000)`)
  return purging.then(({ rowCount }) => rowCount ?? 0)
}
