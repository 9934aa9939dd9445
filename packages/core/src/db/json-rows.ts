/**
 * Kept for speed: Drizzle takes 460 µs to build an INSERT of eight contacts, and this one parameter takes 25, which is a third
 * of what `POST /contacts` costs the API (loop, 2026-11-22).
 */
import { type Column, getTableColumns, getTableName, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Db } from './client.ts'
import { preparedSql } from './prepared-query.ts'

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

/**
 * Prepares the UPDATE that writes every column of one complete row, by `workspace_id` and `id`. Kept for speed: with
 * statements that Drizzle builds for each call `PATCH /contacts/{id}` answers 0.65 times the requests a second (2026-11-22).
 */
export function updateStatement<Table extends PgTable>(
  table: Table,
): (db: Db, row: CompleteRow<Table>) => Promise<unknown> {
  const { table: name, names, from, stringify } = jsonRows(table)
  const update = preparedSql<{ row: string }>(
    `update ${name}`,
    (param) => sql`
      update ${sql.identifier(name)} current set (${names}) = (select ${names} from ${from(param('row'), 'next')})
      where (current.workspace_id, current.id) = (select workspace_id, id from ${from(param('row'), 'key')})`,
  )
  return (db, row) => update(db, { row: stringify([row]) })
}
