import { sql } from 'drizzle-orm'
import { foreignKey, index, integer, pgTable, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, lower, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export const roles = ['VIEWER', 'MEMBER', 'ADMIN', 'OWNER'] as const

export type Role = (typeof roles)[number]

export const users = pgTable(
  'users',
  {
    id: id('usr').primaryKey(),
    email: text().notNull(),
    name: text().notNull().default(''),
    passwordHash: text().notNull(),
    /** When the user first proved that they own the address. Until then, another person may have signed up with it. */
    emailVerifiedAt: timestamptz(),
    verificationMailedAt: timestamptz(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [uniqueIndex('users_email_key').on(lower(t.email))],
)

export const members = tenantTable(
  'members',
  {
    userId: id('usr')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    role: text({ enum: roles }).notNull(),
    createdAt: createdAt(),
  },
  {
    key: ['userId'],
    extra: (t) => [index('members_user_index').on(t.userId), oneOf('members_role_check', t.role, roles)],
  },
)

export const sessions = pgTable(
  'sessions',
  {
    /** SHA-256 of the token. The token itself is not stored. */
    tokenHash: text().primaryKey(),
    /** Identifies the session in the API, where its token must not appear. */
    id: id('ses').notNull().default(sql`uuidv7()`),
    workspaceId: id('wsp').notNull(),
    userId: id('usr').notNull(),
    expiresAt: timestamptz().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    foreignKey({
      name: 'sessions_member_fk',
      columns: [t.workspaceId, t.userId],
      foreignColumns: [members.workspaceId, members.userId],
    }).onDelete('cascade'),
    unique('sessions_id_key').on(t.id),
    index('sessions_user_index').on(t.userId),
    index('sessions_expiry_index').on(t.expiresAt),
  ],
)

/** Password resets. A token can be used once: its use sets `expiresAt` to the creation time. */
export const passwordResets = pgTable(
  'password_resets',
  {
    id: id('rst').primaryKey(),
    userId: id('usr')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** SHA-256 of the token in the mail. */
    tokenHash: text().notNull(),
    expiresAt: timestamptz().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    unique('password_resets_token_key').on(t.tokenHash),
    index('password_resets_user_index').on(t.userId, t.createdAt),
    index('password_resets_expiry_index').on(t.expiresAt),
  ],
)

/** Consecutive failed logins, per email address and per address and client. The address need not belong to a user. */
export const loginFailures = pgTable(
  'login_failures',
  {
    /** A hash of the address, or of the address and the client. */
    emailHash: text().primaryKey(),
    count: integer().notNull(),
    lastFailedAt: createdAt(),
    /** Until when the client counts as known for this address. */
    knownUntil: timestamptz(),
  },
  (t) => [index('login_failures_failed_index').on(t.lastFailedAt)],
)

export const apiKeys = tenantTable(
  'api_keys',
  {
    id: id('key').notNull(),
    name: text().notNull(),
    role: text({ enum: roles }).notNull(),
    /** Operations that the key is limited to; null for all that its role may call. */
    rights: text().array(),
    /** The first characters of the key, so that users can recognize it. */
    prefix: text().notNull(),
    keyHash: text().notNull(),
    /** The user who created the key, directly or with an API key. The user may have been deleted since. */
    createdBy: id('usr'),
    expiresAt: timestamptz(),
    lastUsedAt: timestamptz(),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    extra: (t) => [
      unique('api_keys_hash_key').on(t.keyHash),
      index('api_keys_created_index').on(t.workspaceId, t.createdAt, t.id),
      oneOf('api_keys_role_check', t.role, ['VIEWER', 'MEMBER', 'ADMIN']),
    ],
  },
)
