import { boolean, index, text } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, id, oneOf } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export const publicSignups = ['OPEN', 'CLOSED'] as const

export const lists = tenantTable(
  'lists',
  {
    id: id('lst').notNull(),
    name: text().notNull(),
    description: text().notNull().default(''),
    /** False: a caller with a credential confirms by default. A visitor is always asked by email. */
    doubleOptIn: boolean().notNull().default(true),
    /** CLOSED: visitors cannot subscribe. */
    publicSignup: text({ enum: publicSignups }).notNull().default('OPEN'),
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
      oneOf('lists_public_signup_check', t.publicSignup, publicSignups),
    ],
  },
)
