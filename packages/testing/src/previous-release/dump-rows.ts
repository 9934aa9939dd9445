import pg from 'pg'
import type { TableRows } from './previous-release.ts'

/** The rows as statements that insert them, a row a line unless a value has lines of its own. */
export function dumpRows(tables: readonly TableRows[]): string {
  return tables.map(insertOf).join('\n')
}

function insertOf({ table, columns, rows }: TableRows): string {
  if (rows.length === 0) return `-- ${table} has no row yet.\n`
  const names = columns.map((name) => pg.escapeIdentifier(name)).join(', ')
  const values = rows.map((row) => `  (${columns.map((name) => literalOf(row[name])).join(', ')})`)
  return `insert into ${pg.escapeIdentifier(table)} (${names}) values\n${values.join(',\n')};\n`
}

function literalOf(value: string | null | undefined): string {
  return value === null || value === undefined ? 'null' : pg.escapeLiteral(value)
}
