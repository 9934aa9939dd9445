/**
 * Bounds the pages of listings whose records can be large, such as forms, by bytes: 100 records of 1 MiB would take
 * several hundred MiB in the process that reads them. The database ends the page, so that the API does not receive the
 * records that do not fit.
 */
import { type AnyColumn, getTableColumns, getTableName, sql, type SQL, type SQLWrapper, Subquery } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Db } from '../db/client.ts'

/** A page ends with the record whose large columns, together with those of the records before it, reach this size. */
export const maxPageBytes = 1_048_576

/** A row of a bounded page. */
export interface BoundedRow {
  /** The number of rows that the page would have without the bound. */
  found?: number
}
export const found = sql<number>`found`.as('found')

interface PageBound {
  orderBy: SQL[]
  /** The columns that can be large. */
  large: (AnyColumn | SQL)[]
}

/** Selects a page of a table within the bound. */
export async function selectBoundedPage<Table extends PgTable>(
  db: Db,
  table: Table,
  page: PageBound & { where: SQL | undefined; limit: number },
): Promise<(Table['$inferSelect'] & BoundedRow)[]> {
  const { where, orderBy, limit } = page
  const selected = db
    .select()
    .from<PgTable>(table)
    .where(where)
    .orderBy(...orderBy)
    .limit(limit)
  return db
    .select({ ...getTableColumns(table), found })
    .from(withinPageBytes(table, selected, page))
    .orderBy(...orderBy)
}

/**
 * Those of the `rows` of a page that fit, at least one, as a table for FROM. `rows` is a SELECT whose columns have the
 * names that they have in `table`.
 */
export function withinPageBytes(table: PgTable, rows: SQLWrapper, { orderBy, large }: PageBound): Subquery {
  const bytes = sql.join(large.map(bytesOf), sql` + `)
  const order = sql.join(orderBy, sql`, `)
  const fitting = sql`
    select * from (
      select *, (count(*) over ())::int as found,
        sum(${bytes}) over (order by ${order} rows between unbounded preceding and 1 preceding) as bytes_before
      from (${rows}) as ${table}) as ${table}
    where bytes_before is null or bytes_before < ${sql.raw(String(maxPageBytes))}`
  return new Subquery(fitting, getTableColumns(table), getTableName(table))
}

/** The size of a value, about that of its JSON. PostgreSQL must read only compressed values to compute it. */
function bytesOf(column: AnyColumn | SQL): SQL {
  return sql`coalesce(case when pg_column_compression(${column}) is null then pg_column_size(${column})
    else octet_length(${column}::text) end, 0)`
}
