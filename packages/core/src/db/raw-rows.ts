import { is, type GetColumnData, sql, SQL } from 'drizzle-orm'
import { PgColumn } from 'drizzle-orm/pg-core'

/** The columns of a SELECT in raw SQL. The driver must read the value of an expression as the type that it has. */
export type Columns = Record<string, PgColumn | SQL.Aliased>
export type Row<Selected extends Columns> = { [Name in keyof Selected]: ValueOf<Selected[Name]> }
type ValueOf<Column> = Column extends PgColumn
  ? GetColumnData<Column>
  : Column extends SQL.Aliased<infer Value>
    ? Value
    : never

/** The columns for a SELECT in raw SQL, each with its property name as alias. */
export function selectList(columns: Columns): SQL {
  const entries = Object.entries(columns).map(([name, column]) => {
    return sql`${is(column, SQL.Aliased) ? column.sql : column} as ${sql.identifier(name)}`
  })
  return sql.join(entries, sql`, `)
}

/** Converts a row of such a SELECT to the values that Drizzle would return. */
export function toRow<Selected extends Columns>(columns: Selected, row: Record<string, unknown>): Row<Selected> {
  for (const [name, column] of Object.entries(columns)) {
    if (row[name] !== null && is(column, PgColumn)) row[name] = column.mapFromDriverValue(row[name])
  }
  return row as Row<Selected>
}
