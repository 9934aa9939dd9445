import pg from 'pg'
import type { TableRows } from './previous-release.ts'

/** The columns that an INSERT must name, and those whose default value differs from row to row. */
export interface ColumnDefaults {
  required: string[]
  changing: string[]
}

/** Per table. A default that calls a function is `now()`, an id or a transaction id. */
export async function readColumnDefaults(pool: pg.Pool): Promise<Map<string, ColumnDefaults>> {
  const { rows } = await pool.query<{ table: string; required: string[]; changing: string[] }>(`
    select table_name as table,
      coalesce(array_agg(column_name::text order by ordinal_position)
        filter (where is_nullable = 'NO' and column_default is null), '{}') as required,
      coalesce(array_agg(column_name::text) filter (where column_default like '%(%'), '{}') as changing
    from information_schema.columns where table_schema = 'public' and is_generated = 'NEVER' group by table_name`)
  return new Map(rows.map(({ table, ...defaults }) => [table, defaults]))
}

/** Inserts only the required columns and returns all columns; values of changing defaults become "filled in". */
export async function insertMinimalRows(
  pool: pg.Pool,
  { table, columns, rows }: TableRows,
  { required, changing }: ColumnDefaults,
): Promise<Record<string, string | null>[]> {
  const names = (list: readonly string[]) => list.map((name) => pg.escapeIdentifier(name))
  const places = required.map((_name, index) => `$${index + 1}`)
  const statement = `insert into ${pg.escapeIdentifier(table)} (${names(required).join(', ')}) values (${places.join(', ')})
    returning ${names(columns)
      .map((name) => `${name}::text`)
      .join(', ')}`
  const inserted = []
  for (const row of rows) {
    const result = await pool.query<Record<string, string | null>>(
      statement,
      required.map((name) => row[name]),
    )
    for (const row of result.rows) {
      const isFilledIn = (name: string) => changing.includes(name) && row[name] !== null
      inserted.push(
        Object.fromEntries(columns.map((name) => [name, isFilledIn(name) ? 'filled in' : (row[name] ?? null)])),
      )
    }
  }
  return inserted
}
