import { type Placeholder, type SQL, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { type Db, perDb } from './db.ts'

/** Where in a statement a value goes, by its name. */
export interface Given<Values> {
  (name: keyof Values & string): Placeholder
  readonly values?: Values
}
interface Statement<Result> {
  execute(values?: Record<string, unknown>): Promise<Result>
}
type Prepared<Values, Result> = (db: Db, values: Values) => Promise<Result>

/**
 * A statement that is built once and planned once for each connection, as building and planning can cost more than
 * running it: for what nearly every request does. Not where the best plan depends on the values, as in a listing.
 * `name` is its own in the whole program.
 */
export function prepared<Values extends Record<string, unknown>, Result>(
  name: string,
  build: (db: Db, given: Given<Values>) => { prepare(name: string): Statement<Result> },
): Prepared<Values, Result> {
  return perConnection((db) => build(db, sql.placeholder).prepare(name))
}

/** The same for a statement written in SQL: answers its rows, as the driver reads them. */
export function preparedSql<Values extends Record<string, unknown>, Row = unknown>(
  name: string,
  build: (given: Given<Values>) => SQL,
): Prepared<Values, Row[]> {
  const query = new PgDialect({ casing: 'snake_case' }).sqlToQuery(build(sql.placeholder))
  const run = perConnection<Values, { rows: Row[] }>((db) =>
    db._.session.prepareQuery<{ execute: { rows: Row[] }; all: unknown; values: unknown }>(
      query,
      undefined,
      name,
      false,
    ),
  )
  return async (db, values) => (await run(db, values)).rows
}

function perConnection<Values extends Record<string, unknown>, Result>(
  build: (db: Db) => Statement<Result>,
): Prepared<Values, Result> {
  const statementOn = perDb(build)
  return (db, values) => statementOn(db).execute(values)
}
