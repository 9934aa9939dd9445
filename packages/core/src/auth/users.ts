import { and, eq, inArray, isNull, notExists, sql } from 'drizzle-orm'
import type { BaseCtx } from '../request/context.ts'
import { conflict, onConstraint } from '../kernel/errors.ts'
import { newId, type UserId } from '../kernel/ids.ts'
import { toTimestamp, toTimestampOrNull } from '../kernel/validation.ts'
import type { User } from './auth.schema.ts'
import { members, users } from '../db/schema/index.ts'

type UserRow = typeof users.$inferSelect

/** Makes a user. A taken address is a conflict. */
export async function createUser(
  ctx: BaseCtx,
  user: Pick<UserRow, 'email' | 'name' | 'passwordHash'>,
): Promise<UserRow> {
  const [row] = await ctx.db
    .insert(users)
    .values({ id: newId('usr'), ...user })
    .returning()
    .catch(onConstraint('users_email_key', () => conflict('Email already registered')))
  if (!row) throw new Error('INSERT … RETURNING returned nothing')
  return row
}

/** From now on the address is theirs beyond doubt, if it was not before. */
export async function markEmailVerified({ db }: BaseCtx, id: UserId): Promise<void> {
  await db
    .update(users)
    .set({ emailVerifiedAt: sql`now()` })
    .where(and(eq(users.id, id), isNull(users.emailVerifiedAt)))
}

/** The user of an address, without regard to case; undefined when nobody has it. */
export async function findUserByEmail(ctx: BaseCtx, email: string): Promise<UserRow | undefined> {
  const [user] = await ctx.db.select().from(users).where(sql`lower(${users.email}) = lower(${email})`)
  return user
}

/** Holds users until the transaction ends: whoever takes away what hangs on them comes here first, in one order. */
export async function lockUsers({ db }: BaseCtx, ids: readonly UserId[]): Promise<void> {
  await db
    .select({ id: users.id })
    .from(users)
    .where(inArray(users.id, [...ids]))
    .orderBy(users.id)
    .for('update')
}

/**
 * Forgets those of these users who are in no workspace any more, in the transaction that took them out: they could not
 * log in anywhere, and their address would be taken for ever.
 */
export async function deleteUsersWithoutWorkspace(ctx: BaseCtx, userIds: readonly UserId[]): Promise<void> {
  // So that one who joins another workspace at this moment is either seen below or told that they are gone.
  await lockUsers(ctx, userIds)
  const memberships = ctx.db.select().from(members).where(sql`${members.userId} = ${users.id}`)
  await ctx.db.delete(users).where(and(inArray(users.id, [...userIds]), notExists(memberships)))
}

/** A user as the API shows it: without the hash of the password. */
export function toUser(row: Omit<typeof users.$inferSelect, 'passwordHash'>): User {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    emailVerifiedAt: toTimestampOrNull(row.emailVerifiedAt),
    createdAt: toTimestamp(row.createdAt),
  }
}
