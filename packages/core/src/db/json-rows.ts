import { type Column, getTableColumns, getTableName, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import type { PgTable } from 'drizzle-orm/pg-core'

/** A row with every column that PostgreSQL does not generate. */
export type CompleteRow<Table extends PgTable> = Pick<Table['$inferSelect'], keyof Table['$inferInsert'] & string>

/** Complete rows of a table on their way to a statement, as one parameter of any number of rows. */
export interface JsonRows<Row> {
  table: string
  /** The names of the columns. */
  names: SQL
  /** The rows as a table with these columns, for a FROM. */
  from: (json: SQLWrapper, alias: string) => SQL
  stringify: (rows: readonly Row[]) => string
}

/** The columns come from the schema, so that none can be forgotten. */
export function jsonRows<Table extends PgTable>(table: Table): JsonRows<CompleteRow<Table>> {
  const columns = Object.entries<Column>(getTableColumns(table)).filter(([, column]) => !column.generated)
  const names = columns.map(([property]) => toSnakeCase(property))
  const definitions = columns.map(([, column], index) => `${names[index]} ${column.getSQLType()}`)
  const toJson = (row: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(
      columns.map(([property, column], index) => [names[index] ?? '', toDriver(column, row[property])]),
    )
  return {
    table: getTableName(table),
    names: sql.raw(names.join(', ')),
    from: (json, alias) => sql`json_to_recordset(${json}::json) as ${sql.raw(`${alias} (${definitions.join(', ')})`)}`,
    stringify: (rows) => JSON.stringify(rows.map(toJson)),
  }
}

/** Only ids differ in JSON from what they are in the program. */
function toDriver(column: Column, value: unknown): unknown {
  return value !== null && column.getSQLType() === 'uuid' ? column.mapToDriverValue(value) : value
}
