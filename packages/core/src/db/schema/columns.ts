/** Columns that many tables have. */
import { sql } from 'drizzle-orm'
import { type AnyPgColumn, check, customType, timestamp } from 'drizzle-orm/pg-core'
import { type IdOf, type IdPrefix, idOf, uuidOf } from '../../kernel/ids.ts'

/** Column of an identifier: a `uuid` in the database, `con_01j…` in the program. */
export function id<Prefix extends IdPrefix>(prefix: Prefix) {
  return customType<{ data: IdOf<Prefix>; driverData: string }>({
    dataType: () => 'uuid',
    toDriver: (value) => uuidOf(value),
    fromDriver: (value) => idOf(prefix, value),
  })()
}

export const moment = () => timestamp({ precision: 3, withTimezone: true, mode: 'date' })
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
export const transactionId = customType<{ data: string }>({ dataType: () => 'xid8' })
export const createdAt = () => moment().notNull().defaultNow()
export const lower = (column: AnyPgColumn) => sql`lower(${column})`
export const oneOf = (name: string, column: AnyPgColumn, values: readonly string[]) =>
  check(name, sql`${column} in (${sql.raw(values.map((value) => `'${value}'`).join(', '))})`)
