import { DrizzleQueryError, fillPlaceholders, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { type ConnectionDb, type Db, onConnection, memoizePerDb, statementName } from './client.ts'

/** Marks the place of a value in a statement, by its name. `values` ties the names to a type and has no value. */
export interface Params<Values> {
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
  build: (db: ConnectionDb, param: Params<Values>) => { prepare(name: string): Statement<Result> },
): Prepared<Values, Result> {
  const statementOn = memoizePerDb((db: ConnectionDb) => build(db, sql.placeholder).prepare(statementName(db, name)))
  return (db, values) => onConnection(db, (db) => statementOn(db).execute(values))
}

/** The same for a statement written in SQL: answers its rows, as the driver reads them. */
export function preparedSql<Values extends Record<string, unknown>, Row = unknown>(
  name: string,
  build: (param: Params<Values>) => SQL,
): Prepared<Values, Row[]> {
  const query = new PgDialect({ casing: 'snake_case' }).sqlToQuery(build(sql.placeholder))
  return (db, values) =>
    onConnection(db, async (db) => {
      const parameters = fillPlaceholders(query.params, values)
      const statement = { name: statementName(db, name), text: query.sql, values: parameters, types: { getTypeParser } }
      const { rows } = await db.$client.query<Row & pg.QueryResultRow>(statement).catch((cause: unknown) => {
        throw new DrizzleQueryError(query.sql, parameters, cause as Error)
      })
      return rows
    })
}

/** `numeric[]` and the arrays of moments, which pg's list of types leaves out. */
const arraysAsText = [1231, 1115, 1182, 1185, 1187]
const { TIMESTAMPTZ, TIMESTAMP, DATE, INTERVAL } = pg.types.builtins
const readAsText = new Set<number>([TIMESTAMPTZ, TIMESTAMP, DATE, INTERVAL, ...arraysAsText])

/** The same as in Drizzle's `db.execute`: moments are text. */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (type, format): unknown =>
  readAsText.has(type) ? (value: unknown) => value : pg.types.getTypeParser(type, format)
