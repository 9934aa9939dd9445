import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../client.ts'
import { composedStatement } from '../statements/named-statement.ts'
import { json } from '../statements/sql-types.ts'
import { transaction } from '../transaction.ts'

interface Plan {
  'Plan Rows': number
  /** The plans of the tasks that run on the servers. */
  'Distributed Query'?: { Job: { Tasks: { 'Remote Plan': [[{ Plan: Plan }]] }[] } }
}

const explainRows = composedStatement('explain', { columns: { 'QUERY PLAN': json<[{ Plan: Plan }]>() } })

/**
 * Returns the planner's estimate of the number of rows. `rows` is what follows FROM. The planner plans with the values of
 * the condition, so it knows which of them are common.
 */
export async function estimateRows(db: Db, rows: SQL): Promise<number> {
  const explain = sql`explain (format json) select 1 from ${rows}`
  // By default, Citus shows one of many tasks. PostgreSQL accepts the setting without Citus, and ignores it.
  const [explained] = await transaction(db, (db) => explainRows(db, explain), { 'citus.explain_all_tasks': 'on' })
  return explained ? sumRows(explained['QUERY PLAN'][0].Plan) : 0
}

function sumRows(plan: Plan): number {
  const tasks = plan['Distributed Query']?.Job.Tasks
  if (!tasks) return plan['Plan Rows']
  return tasks.reduce((sum, task) => sum + sumRows(task['Remote Plan'][0][0].Plan), 0)
}
