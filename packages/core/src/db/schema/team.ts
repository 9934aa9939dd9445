import { index, integer, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, lower, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import { roles } from './auth.ts'

/** Who was asked to join. The row goes when they do: a token is good once. */
export const invites = tenantTable(
  'invites',
  {
    id: id('inv').notNull(),
    email: text().notNull(),
    role: text({ enum: roles }).notNull(),
    /** SHA-256 of the token in the newest mail. */
    tokenHash: text().notNull(),
    /** How often it was mailed again, each time with a token of its own. */
    resends: integer().notNull().default(0),
    /** The user who asked, by themselves or by an API key of theirs; who may be gone by now. */
    createdBy: id('usr'),
    expiresAt: timestamptz().notNull(),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      unique('invites_token_key').on(t.tokenHash),
      uniqueIndex('invites_email_key').on(t.workspaceId, lower(t.email)),
      index('invites_created_index').on(t.workspaceId, t.createdAt, t.id),
      oneOf('invites_role_check', t.role, roles),
    ],
  },
)
