import { type SQL, sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import type { PgColumn } from 'drizzle-orm/pg-core'

/**
 * The column with its table. In a select of one table and in `set`, Drizzle omits the table of an interpolated column,
 * which would then belong to the innermost sub-select that has a column of this name.
 */
export const qualify = (column: PgColumn): SQL => sql`${column.table}.${sql.identifier(toSnakeCase(column.name))}`
