import { boolean, index, text } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export const lists = tenantTable(
  'lists',
  {
    id: id('lst').notNull(),
    name: text().notNull(),
    description: text().notNull().default(''),
    doubleOptIn: boolean().notNull().default(true),
    /** The language of the list, for contacts without one. */
    locale: text(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    /** Soft delete: the worker deletes the subscriptions, then the row. */
    deletedAt: timestamptz(),
  },
  {
    key: ['id'],
    extra: (t) => [
      // The public route looks up a list by its id alone.
      index('lists_id_index').on(t.id),
      index('lists_created_index').on(t.workspaceId, t.createdAt, t.id),
    ],
  },
)
