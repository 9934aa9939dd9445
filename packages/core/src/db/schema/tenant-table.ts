import {
  type AnyPgColumn,
  foreignKey,
  type PgColumnBuilderBase,
  type PgTableExtraConfigValue,
  pgTable,
  primaryKey,
} from 'drizzle-orm/pg-core'
import type { BuildExtraConfigColumns } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import { id } from './columns.ts'
import { workspaces } from './workspaces.ts'

type Columns = Record<string, PgColumnBuilderBase>
/** A table that others point to by `(workspace_id, id)`. */
type Parent = Record<'workspaceId' | 'id', AnyPgColumn>

const workspaceId = () => id('wsp').notNull()
type WithWorkspace<Own extends Columns> = { workspaceId: ReturnType<typeof workspaceId> } & Own

interface TenantOptions<Own extends Columns, Name extends string> {
  /** The primary key, after `workspace_id`. */
  key: readonly (keyof Own & string)[]
  /** The parents that a row is deleted with, by the column that names each. Without any, that is its workspace. */
  ownedBy?: Partial<Record<keyof Own, Parent>>
  /** Rows that must exist, and cannot be deleted before the column is emptied. */
  references?: Partial<Record<keyof Own, Parent>>
  /** Indexes, checks and further keys. */
  extra?: (t: BuildExtraConfigColumns<Name, WithWorkspace<Own>, 'pg'>) => PgTableExtraConfigValue[]
}

/**
 * A table of a workspace: `workspace_id` comes first in it and in its primary key, and every foreign key names both
 * columns, so that PostgreSQL itself refuses a link between two workspaces.
 */
export function tenantTable<Name extends string, Own extends Columns>(
  name: Name,
  own: Own,
  { key, ownedBy = {}, references = {}, extra }: TenantOptions<Own, Name>,
) {
  const isOwned = Object.keys(ownedBy).length > 0
  const first = isOwned ? workspaceId() : workspaceId().references(() => workspaces.id, { onDelete: 'cascade' })
  return pgTable(name, { workspaceId: first, ...own } as WithWorkspace<Own>, (t) => {
    const columns = t as Record<string, AnyPgColumn>
    const column = (property: string) => columns[property] as AnyPgColumn
    const keyTo = ([property, parent]: [string, Parent]) =>
      foreignKey({
        name: `${name}_${toSnakeCase(property.replace(/Id$/, ''))}_fk`,
        columns: [column('workspaceId'), column(property)],
        foreignColumns: [parent.workspaceId, parent.id],
      })
    return [
      primaryKey({ columns: [column('workspaceId'), ...key.map(column)] }),
      ...Object.entries(ownedBy as Record<string, Parent>).map((entry) => keyTo(entry).onDelete('cascade')),
      ...Object.entries(references as Record<string, Parent>).map(keyTo),
      ...(extra?.(t) ?? []),
    ]
  })
}
