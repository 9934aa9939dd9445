import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { composedStatement } from '../db/statements/named-statement.ts'
import { int } from '../db/statements/sql-types.ts'
import { estimateRows } from '../db/distribution/estimate-rows.ts'

/** A bounded count: it reads no more than so many rows, however many match. */
const maxExact = 10_000

export interface BoundedCount {
  total: number
  isEstimate: boolean
}

const countRows = composedStatement('count rows', { columns: { total: int } })

/**
 * Counts rows: exactly up to 10,000, then by the planner's estimate. `rows` is what follows FROM: a table and its
 * condition.
 */
export async function countOrEstimate(db: Db, rows: SQL): Promise<BoundedCount> {
  const [{ total } = { total: 0 }] = await countRows(
    db,
    sql`select count(*)::int as total from (select 1 from ${rows} limit ${maxExact + 1}) as matches`,
  )
  if (total <= maxExact) return { total, isEstimate: false }
  return { total: Math.max(total, await estimateRows(db, rows)), isEstimate: true }
}
