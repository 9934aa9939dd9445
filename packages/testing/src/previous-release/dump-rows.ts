import pg from 'pg'
import type { TableRows } from './previous-release.ts'

/** Returns INSERT statements for the rows, one row per line unless a value contains line breaks. */
export function dumpRows(tables: readonly TableRows[]): string {
  return tables.map(toInsert).join('\n')
}

function toInsert({ table, columns, rows }: TableRows): string {
  if (rows.length === 0) return `-- ${table} has no row yet.\n`
  const names = columns.map((name) => pg.escapeIdentifier(name)).join(', ')
  const values = rows.map((row) => `  (${columns.map((name) => toLiteral(row[name])).join(', ')})`)
  return `insert into ${pg.escapeIdentifier(table)} (${names}) values\n${values.join(',\n')};\n`
}

function toLiteral(value: string | null | undefined): string {
  return value === null || value === undefined ? 'null' : pg.escapeLiteral(value)
}
