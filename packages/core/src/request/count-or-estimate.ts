import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { estimateRows } from '../db/distribution/estimate-rows.ts'

/** A bounded count: it reads no more than so many rows, however many match. */
const maxExact = 10_000

export interface BoundedCount {
  total: number
  isEstimate: boolean
}

/**
 * Counts rows: exactly up to 10,000, then by the planner's estimate. `rows` is what follows FROM: a table and its
 * condition.
 */
export async function countOrEstimate(db: Db, rows: SQL): Promise<BoundedCount> {
  const counted = await db.execute<{ total: number }>(
    sql`select count(*)::int as total from (select 1 from ${rows} limit ${maxExact + 1}) as matches`,
  )
  const { total } = counted.rows[0] ?? { total: 0 }
  if (total <= maxExact) return { total, isEstimate: false }
  return { total: Math.max(total, await estimateRows(db, rows)), isEstimate: true }
}
