import type { Ctx } from '@rapport/core/request/context.ts'
import { inject } from 'vitest'
import type { TestDatabase } from './database.ts'
import { recordStatements } from './statements.ts'

/** Whether EXPLAIN shows the nodes of Citus. Its servers plan their statements as PostgreSQL does. */
export const hidesPlans = inject('testServices').nodeUrls.length > 1

/** Returns the plan of each SELECT from this table that `work` runs. */
export async function explainSelects(
  database: TestDatabase,
  { ctx, table }: { ctx: Ctx; table: string },
  work: (ctx: Ctx) => Promise<unknown>,
): Promise<string[]> {
  const statements = await recordStatements(database, ctx, work)
  const selects = statements.filter(({ text }) => new RegExp(`(from|join) "?${table}\\b`).test(text))
  if (selects.length === 0) throw new Error(`There was no SELECT from ${table}`)
  const plans = selects.map(({ text, values }) =>
    database.pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values),
  )
  return (await Promise.all(plans)).map(({ rows }) => rows.map((row) => row['QUERY PLAN']).join('\n'))
}

/** Returns the major version of the server: plans differ between versions. */
export async function readMajorVersion({ pool }: TestDatabase): Promise<number> {
  const { rows } = await pool.query<{ version: number }>(
    `select current_setting('server_version_num')::int / 10000 as version`,
  )
  return rows[0]?.version ?? 0
}

/** A node of a plan in the format of `explain (format json)`. */
export interface PlanNode {
  'Node Type': string
  'Parent Relationship'?: string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Subplans Removed'?: number
  Plans?: PlanNode[]
}

/** Returns a node with all nodes below it. */
export const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]
