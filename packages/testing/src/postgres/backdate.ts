import { type SQL, sql } from 'drizzle-orm'

/**
 * An assignment that moves the timestamps of a column into the past, by an interval such as '1 hour'. In UTC, because
 * the result otherwise depends on the time zone of the connection, and Citus rejects such an expression in an UPDATE.
 */
export function backdate(column: string, interval: string): SQL {
  const name = sql.identifier(column)
  return sql`${name} = (${name} at time zone 'UTC' - ${interval}::interval) at time zone 'UTC'`
}
