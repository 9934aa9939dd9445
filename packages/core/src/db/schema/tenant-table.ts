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
/** A table that foreign keys reference by `(workspace_id, id)`. */
type Parent = Record<'workspaceId' | 'id', AnyPgColumn>

const workspaceId = () => id('wsp').notNull()
type WithWorkspace<Own extends Columns> = { workspaceId: ReturnType<typeof workspaceId> } & Own

interface TenantOptions<Own extends Columns, Name extends string> {
  /** The primary key, after `workspace_id`. */
  key: readonly (keyof Own & string)[]
  /** The parents by column: a row is deleted with its parents. Without parents it is deleted with its workspace. */
  ownedBy?: Partial<Record<keyof Own, Parent>>
  /** Referenced rows by column. A row that is referenced cannot be deleted. */
  references?: Partial<Record<keyof Own, Parent>>
  /** Indexes, checks and additional keys. */
  extra?: (t: BuildExtraConfigColumns<Name, WithWorkspace<Own>, 'pg'>) => PgTableExtraConfigValue[]
}

/**
 * Defines a table whose rows belong to a workspace. `workspace_id` is its first column, starts its primary key and is
 * part of every foreign key, so that PostgreSQL itself rejects a reference to another workspace.
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
