import { type Placeholder, sql } from 'drizzle-orm'
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
 * Prepares a statement of Drizzle's builder, which is built and planned once per connection, because building and
 * planning can cost more than running it. Use it for statements of nearly every request, but not if the best plan
 * depends on the values, as in a listing. `name` must be unique in the process.
 */
export function prepared<Values extends Record<string, unknown>, Result>(
  name: string,
  build: (db: ConnectionDb, param: Params<Values>) => { prepare(name: string): Statement<Result> },
): Prepared<Values, Result> {
  const statementOn = memoizePerDb((db: ConnectionDb) => build(db, sql.placeholder).prepare(statementName(db, name)))
  return (db, values) => onConnection(db, (db) => statementOn(db).execute(values))
}
