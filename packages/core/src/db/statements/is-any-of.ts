import { type GetColumnData, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'

/** Like `inArray`, with one parameter for all values: building a statement of a thousand takes longer than executing it. */
export function isAnyOf<Column extends PgColumn>(
  column: Column,
  values: readonly NonNullable<GetColumnData<Column>>[],
): SQL {
  const driverValues = values.map((value) => column.mapToDriverValue(value))
  return sql`${column} = any(${sql.param(driverValues)}::${sql.raw(column.getSQLType())}[])`
}
