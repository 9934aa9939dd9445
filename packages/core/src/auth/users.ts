import { and, eq, inArray, isNull, notExists, sql } from 'drizzle-orm'
import { createCommittedCounter } from '../events/committed-counter.ts'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { onConstraint } from '../db/database-errors.ts'
import { lockUniqueValue } from '../db/distribution/conflicts.ts'
import { conflict } from '../kernel/errors.ts'
import { idOf, newId, nilUuid, type UserId } from '../kernel/ids.ts'
import type { User } from './auth.schema.ts'
import { members, users } from '../db/schema/index.ts'

type UserRow = typeof users.$inferSelect

/** Never the id of a user. */
export const noUserId = idOf('usr', nilUuid)

/** A user signs up, which creates a workspace too, or accepts an invite. */
export const userOrigins = ['sign_up', 'invite'] as const

export const createdUsers = createCommittedCounter({
  name: 'users_created_total',
  help: 'Users that this process created, by sign-up or invite',
  labelNames: ['by'],
})

type NewUser = Pick<UserRow, 'email' | 'name' | 'passwordHash'> &
  Partial<Pick<UserRow, 'emailVerifiedAt' | 'verificationMailedAt'>>

/** Creates a user. Throws `already_exists` if the address is taken. */
export async function createUser(
  ctx: BaseCtx,
  { by, ...user }: NewUser & { by: (typeof userOrigins)[number] },
): Promise<UserRow> {
  await lockUniqueValue(ctx.db, sql`lower(${user.email} collate "C")`)
  const [row] = await ctx.db
    .insert(users)
    .values({ id: newId('usr'), ...user })
    .returning()
    .catch(onConstraint('users_email_key', () => conflict('already_exists', 'Email already registered')))
  if (!row) throw new Error('INSERT … RETURNING returned nothing')
  createdUsers.add(ctx.db, { by }, 1)
  return row
}

/** Records when the email address was first verified. */
export async function markEmailVerified({ db }: BaseCtx, id: UserId): Promise<void> {
  await db
    .update(users)
    .set({ emailVerifiedAt: sql`now()` })
    .where(and(eq(users.id, id), isNull(users.emailVerifiedAt)))
}

/** Finds a user by email, ignoring case. */
export async function findUserByEmail(ctx: BaseCtx, email: string): Promise<UserRow | undefined> {
  const [user] = await ctx.db
    .select()
    .from(users)
    .where(sql`lower(${users.email} collate "C") = lower(${email} collate "C")`)
  return user
}

/** Whether the address, ignoring case, belongs to a member of the workspace. */
export async function isMember(ctx: Ctx, email: string): Promise<boolean> {
  const found = await ctx.db
    .select({ id: users.id })
    .from(members)
    .innerJoin(users, eq(users.id, members.userId))
    .where(
      and(
        eq(members.workspaceId, ctx.workspaceId),
        sql`lower(${users.email} collate "C") = lower(${email} collate "C")`,
      ),
    )
  return found.length > 0
}

/**
 * Locks users until the transaction ends, in the order of their ids. Every transaction that removes memberships or
 * credentials of a user locks the user first.
 */
export async function lockUsers({ db }: BaseCtx, ids: readonly UserId[]): Promise<void> {
  await db
    .select({ id: users.id })
    .from(users)
    .where(inArray(users.id, [...ids]))
    .orderBy(users.id)
    .for('update')
}

/**
 * Deletes the users who are no longer a member of any workspace, in the transaction that removed them: they could not
 * log in, and their address would remain taken.
 */
export async function deleteUsersWithoutWorkspace(ctx: BaseCtx, userIds: readonly UserId[]): Promise<void> {
  // A user who joins another workspace concurrently is either seen below, or their request fails on the foreign key.
  await lockUsers(ctx, userIds)
  const memberships = ctx.db.select().from(members).where(sql`${members.userId} = ${users.id}`)
  await ctx.db.delete(users).where(and(inArray(users.id, [...userIds]), notExists(memberships)))
}

/** Omits the password hash. */
export function toUser(row: Omit<typeof users.$inferSelect, 'passwordHash'>): User {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    emailVerifiedAt: row.emailVerifiedAt,
    createdAt: row.createdAt,
  }
}
