import type { Ctx } from '@rapport/core/request/context.ts'
import type { TestDatabase } from './database.ts'
import { recordStatements } from './statements.ts'

/** Returns the plan of each SELECT from this table that `work` runs. */
export async function explainSelects(
  database: TestDatabase,
  { ctx, table }: { ctx: Ctx; table: string },
  work: (ctx: Ctx) => Promise<unknown>,
): Promise<string[]> {
  const statements = await recordStatements(database, ctx, work)
  const selects = statements.filter(({ text }) => new RegExp(`from "?${table}\\b`).test(text))
  if (selects.length === 0) throw new Error(`There was no SELECT from ${table}`)
  const plans = selects.map(({ text, values }) =>
    database.pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values),
  )
  return (await Promise.all(plans)).map(({ rows }) => rows.map((row) => row['QUERY PLAN']).join('\n'))
}
