/** Column types and helpers that many tables use. */
import { sql } from 'drizzle-orm'
import { type AnyPgColumn, check, customType } from 'drizzle-orm/pg-core'
import { type IdOf, type IdPrefix, idOf, uuidOf } from '../../kernel/ids.ts'
import { type Timestamp, timestampOf } from '../../kernel/values/timestamps.ts'

/** An id: a `uuid` in the database, `con_01j…` in the program. */
export function id<Prefix extends IdPrefix>(prefix: Prefix) {
  return customType<{ data: IdOf<Prefix>; driverData: string }>({
    dataType: () => 'uuid',
    toDriver: (value) => uuidOf(value),
    fromDriver: (value) => idOf(prefix, value),
  })()
}

/** A timestamp with milliseconds. Drizzle's `timestamp` misreads the years 1 to 99 as 1900 to 2099. */
export const timestamptz = () =>
  customType<{ data: Timestamp; driverData: string }>({
    dataType: () => 'timestamp (3) with time zone',
    fromDriver: timestampOf,
  })()
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
export const jsonPath = customType<{ data: string }>({ dataType: () => 'jsonpath' })
export const transactionId = customType<{ data: string }>({ dataType: () => 'xid8' })
export const createdAt = () => timestamptz().notNull().default(sql`now()`)
/** Moves a timestamp forward, never back: the clocks of processes may differ. */
export const timeAtLeast = (column: AnyPgColumn, at: Timestamp) => sql`greatest(${column}, ${sql.param(at, column)})`
export const lower = (column: AnyPgColumn) => sql`lower(${column} collate "C")`
export const oneOf = (name: string, column: AnyPgColumn, values: readonly string[]) =>
  check(name, sql`${column} in (${sql.raw(values.map((value) => `'${value}'`).join(', '))})`)
