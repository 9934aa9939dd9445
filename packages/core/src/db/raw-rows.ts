import { type GetColumnData, sql, type SQL } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'

export type Columns = Record<string, PgColumn>
export type Row<Selected extends Columns> = { [Name in keyof Selected]: GetColumnData<Selected[Name]> }

/** The columns for a SELECT that Drizzle does not run, each by its name in the program. */
export function selectList(columns: Columns): SQL {
  const entries = Object.entries(columns).map(([name, column]) => sql`${column} as ${sql.identifier(name)}`)
  return sql.join(entries, sql`, `)
}

/** A row of such a SELECT, as Drizzle reads it. */
export function toRow<Selected extends Columns>(columns: Selected, row: Record<string, unknown>): Row<Selected> {
  for (const name in columns) if (row[name] !== null) row[name] = columns[name]?.mapFromDriverValue(row[name])
  return row as Row<Selected>
}
