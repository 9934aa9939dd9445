import { index, integer, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, lower, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import { roles } from './auth.ts'

/** Pending invites. Accepting an invite deletes its row, so a token can be used once. */
export const invites = tenantTable(
  'invites',
  {
    id: id('inv').notNull(),
    email: text().notNull(),
    role: text({ enum: roles }).notNull(),
    /** SHA-256 of the token in the latest email. */
    tokenHash: text().notNull(),
    /** How often the invite was sent again, each time with a new token. */
    resends: integer().notNull().default(0),
    /** The user who sent the invite, directly or with an API key. The user may have been deleted since. */
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
