import { type GetColumnData, sql, type SQL } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'

/** The columns of a SELECT in raw SQL. */
export type Columns = Record<string, PgColumn>
export type Row<Selected extends Columns> = { [Name in keyof Selected]: GetColumnData<Selected[Name]> }

/** The columns for a SELECT in raw SQL, each with its property name as alias. */
export function selectList(columns: Columns): SQL {
  const entries = Object.entries(columns).map(([name, column]) => sql`${column} as ${sql.identifier(name)}`)
  return sql.join(entries, sql`, `)
}

/** Converts a row of such a SELECT to the values that Drizzle would return. */
export function toRow<Selected extends Columns>(columns: Selected, row: Record<string, unknown>): Row<Selected> {
  for (const [name, column] of Object.entries(columns)) {
    if (row[name] !== null) row[name] = column.mapFromDriverValue(row[name])
  }
  return row as Row<Selected>
}
