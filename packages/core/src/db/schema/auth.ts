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
    /** When it was first proved that the address is theirs: until then anybody may have signed up with it. */
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
    /** SHA-256 of the token: the token itself is nowhere. */
    tokenHash: text().primaryKey(),
    /** What the session is called, as its token must not be. */
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

/** Who forgot their password. A token is good once: used, it expired when it was made. */
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

/** Wrong passwords in a row, by what they were tried for, known or not: an address, and an address from one client. */
export const loginFailures = pgTable(
  'login_failures',
  {
    /** Of the address alone, or of the address and the client. */
    emailHash: text().primaryKey(),
    count: integer().notNull(),
    lastFailedAt: createdAt(),
    /** Until when this client counts as one that the address was used from before. */
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
    /** The start of the key, enough for a person to recognise it. */
    prefix: text().notNull(),
    keyHash: text().notNull(),
    /** The user who issued it, by themselves or by an API key of theirs; who may be gone by now. */
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
