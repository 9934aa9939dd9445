import { index, jsonb, text } from 'drizzle-orm/pg-core'
import { createdAt, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

/** Saved filters over contacts. A segment is evaluated when it is used, and never stored as a copy of its contacts. */
export const segments = tenantTable(
  'segments',
  {
    id: id('seg').notNull(),
    name: text().notNull(),
    /** A `Filter`: see `segments/filter.schema.ts`. */
    filter: jsonb().notNull(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  { key: ['id'], extra: (t) => [index('segments_created_index').on(t.workspaceId, t.createdAt, t.id)] },
)
