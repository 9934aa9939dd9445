import { index, jsonb, text } from 'drizzle-orm/pg-core'
import { createdAt, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

/** The audit log. Rows are never changed. */
export const auditEntries = tenantTable(
  'audit_entries',
  {
    id: id('aud').notNull(),
    action: text().notNull(),
    actorKind: text({ enum: ['user', 'apiKey', 'public', 'system'] }).notNull(),
    /** Ids as the API shows them. The records may have been deleted since. */
    actorId: text(),
    subjectId: text(),
    details: jsonb().$type<Record<string, string | number | boolean | null>>().notNull(),
    address: text(),
    requestId: text().notNull(),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('audit_entries_created_index').on(t.workspaceId, t.createdAt, t.id),
      // For the purge, of all workspaces.
      index('audit_entries_purge_index').on(t.createdAt),
      index('audit_entries_action_index').on(t.workspaceId, t.action, t.createdAt, t.id),
      index('audit_entries_actor_index').on(t.workspaceId, t.actorId, t.createdAt, t.id),
    ],
  },
)
