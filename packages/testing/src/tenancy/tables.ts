import { type Column, getTableColumns, getTableName, is, Table } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import * as schema from '@rapport/core/db/schema/index.ts'
import { referenceTables } from '@rapport/core/db/distribution/table-groups.ts'
import type { Tables } from './check-statement.ts'

const columns = new Map(
  Object.values<unknown>(schema).flatMap((table) =>
    is(table, Table) ? [[getTableName(table), columnsOf(table)] as const] : [],
  ),
)

export const tables: Tables = {
  columns,
  distributed: new Set(
    [...columns].flatMap(([name, names]) =>
      names.includes('workspace_id') && !referenceTables.includes(name) ? [name] : [],
    ),
  ),
}

function columnsOf(table: Table): string[] {
  return Object.values<Column>(getTableColumns(table)).map(({ name }) => toSnakeCase(name))
}
