import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { transaction } from '../db/transaction.ts'

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
  return { total: Math.max(total, await estimate(db, rows)), isEstimate: true }
}

interface Plan {
  'Plan Rows': number
  /** On Citus: the plans of the tasks that run on the servers. */
  'Distributed Query'?: { Job: { Tasks: { 'Remote Plan': [[{ Plan: Plan }]] }[] } }
}

/** The planner plans with the values of the condition, so it knows which of them are common. */
async function estimate(db: Db, rows: SQL): Promise<number> {
  const explain = sql`explain (format json) select 1 from ${rows}`
  // By default, Citus shows one of many tasks. PostgreSQL accepts the setting without Citus, and ignores it.
  const explained = await transaction(db, (db) => db.execute<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explain), {
    'citus.explain_all_tasks': 'on',
  })
  return explained.rows[0] ? rowsOf(explained.rows[0]['QUERY PLAN'][0].Plan) : 0
}

function rowsOf(plan: Plan): number {
  const tasks = plan['Distributed Query']?.Job.Tasks
  if (!tasks) return plan['Plan Rows']
  return tasks.reduce((sum, task) => sum + rowsOf(task['Remote Plan'][0][0].Plan), 0)
}
