import { DrizzleQueryError, fillPlaceholders, is, Placeholder, type SQL, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { type ConnectionDb, type Db, onConnection, memoizePerDb, statementName } from './client.ts'

/** Creates a named placeholder in a statement. `values` exists only for the type of the names. */
export interface Params<Values> {
  (name: keyof Values & string): Placeholder
  readonly values?: Values
}
interface Statement<Result> {
  execute(values?: Record<string, unknown>): Promise<Result>
}
type Prepared<Values, Result> = (db: Db, values: Values) => Promise<Result>

/**
 * Prepares a statement that is built and planned once per connection, because building and planning can cost more than
 * running it. Use it for statements of nearly every request, but not if the best plan depends on the values, as in a
 * listing. `name` must be unique in the process.
 */
export function prepared<Values extends Record<string, unknown>, Result>(
  name: string,
  build: (db: ConnectionDb, param: Params<Values>) => { prepare(name: string): Statement<Result> },
): Prepared<Values, Result> {
  const statementOn = memoizePerDb((db: ConnectionDb) => build(db, sql.placeholder).prepare(statementName(db, name)))
  return (db, values) => onConnection(db, (db) => statementOn(db).execute(values))
}

/**
 * Prepares a statement that is written in SQL. It returns the rows as the driver reads them. A placeholder that is used
 * twice is one parameter, which shows a distributed database that two tables are filtered by the same workspace.
 */
export function preparedSql<Values extends Record<string, unknown>, Row = unknown>(
  name: string,
  build: (param: Params<Values>) => SQL,
): Prepared<Values, Row[]> {
  const query = mergeParams(new PgDialect({ casing: 'snake_case' }).sqlToQuery(build(sql.placeholder)))
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

/** Drizzle numbers every use of a placeholder. Keeps one number per name. Values are not merged. */
function mergeParams(query: { sql: string; params: unknown[] }) {
  const keys = query.params.map((param, index) => (is(param, Placeholder) ? param.name : index))
  const merged = [...new Set(keys)]
  const params = merged.map((key) => query.params[keys.indexOf(key)])
  const number = (former: string) => merged.indexOf(keys[Number(former) - 1] ?? '') + 1
  return { sql: query.sql.replaceAll(/\$(\d+)/g, (_, former: string) => `$${number(former)}`), params }
}

/** `numeric[]` and the arrays of date and time types, which `pg.types.builtins` does not list. */
const arraysAsText = [1231, 1115, 1182, 1185, 1187]
const { TIMESTAMPTZ, TIMESTAMP, DATE, INTERVAL } = pg.types.builtins
const readAsText = new Set<number>([TIMESTAMPTZ, TIMESTAMP, DATE, INTERVAL, ...arraysAsText])

/** Reads the same values as Drizzle's `db.execute`: dates and times are text. */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (type, format): unknown =>
  readAsText.has(type) ? (value: unknown) => value : pg.types.getTypeParser(type, format)
