import { inAccountTransaction } from './account-transaction.ts'
import { and, asc, eq, lt, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import type { BaseCtx, Ctx } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { purgeRows } from '../db/statements/purge-rows.ts'
import { onConstraint } from '../db/database-errors.ts'
import { AppError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { normalizeEmail } from '../kernel/validation.ts'
import { timestampNow, timestampAt } from '../kernel/values/timestamps.ts'
import { startOfText } from '../kernel/values/text.ts'
import { members, sessions, users, workspaces } from '../db/schema/index.ts'
import { hashToken, newToken } from '../kernel/crypto.ts'
import type { LoginInput, Session, SignupInput, User } from './auth.schema.ts'
import { enqueueVerificationMail } from './email-verification.ts'
import { verifyCredentials } from './login-throttle.ts'
import { checkPassword, hashPassword } from './passwords.ts'
import { createUser, toUser } from './users.ts'
import { createWorkspace, toWorkspace } from '../workspaces/workspaces.ts'
import { maxWorkspaceName, type Workspace } from '../workspaces/workspaces.schema.ts'

const sessionDays = 30

/**
 * Creates a user, a workspace with the user as its OWNER, and a session, and sends a verification email. `locale` is
 * that of the user's browser. Throws `forbidden` if sign-up is closed, and `already_exists` if the address is taken.
 */
export async function signUp(
  ctx: BaseCtx,
  { locale, ...input }: SignupInput & { locale?: string | undefined },
): Promise<Session> {
  if (!ctx.settings.isSignUpOpen) throw new AppError('forbidden', 'Sign-up is closed: ask for an invite')
  checkPassword(input.password, input.email)
  const passwordHash = await hashPassword(input.password, ctx.settings.passwordCost)
  return inAccountTransaction(ctx, async (ctx) => {
    const { db } = ctx
    const { email, name } = input
    const row = await createUser(ctx, {
      email,
      name,
      passwordHash,
      verificationMailedAt: timestampNow(),
      by: 'sign_up',
    })
    const workspace = await createWorkspace(db, input.workspaceName ?? defaultWorkspaceName(input))
    await db.insert(members).values({ workspaceId: workspace.id, userId: row.id, role: 'OWNER' })
    const actor = { kind: 'user', userId: row.id, role: 'OWNER' } as const
    await enqueueVerificationMail({ ...ctx, workspaceId: workspace.id, actor }, { id: row.id, email, locale })
    return openSession({ ...ctx, workspaceId: workspace.id, actor }, toUser(row), workspace)
  })
}

/** Visitors see the name on hosted pages, so it does not contain the email address. */
function defaultWorkspaceName({ name, email }: SignupInput): string {
  const ending = "'s workspace"
  return startOfText(name || email.slice(0, email.lastIndexOf('@')), maxWorkspaceName - ending.length) + ending
}

/**
 * Opens a session for 30 days. A wrong email and a wrong password get the same error, in constant time. Throws
 * `rate_limited` after too many failures.
 */
export async function logIn(ctx: BaseCtx, input: LoginInput): Promise<Session> {
  const invalidLogin = new AppError('unauthorized', 'Invalid email or password')
  const email = normalizeEmail(input.email) ?? input.email
  const user = await verifyCredentials(ctx, email, input.password)
  if (!user) throw invalidLogin
  const [membership] = await ctx.db
    .select({ workspace: workspaces, role: members.role })
    .from(members)
    .innerJoin(workspaces, eq(workspaces.id, members.workspaceId))
    .where(and(eq(members.userId, user.id), input.workspaceId ? eq(members.workspaceId, input.workspaceId) : undefined))
    .orderBy(asc(members.createdAt), asc(members.workspaceId))
    .limit(1)
  if (!membership) throw invalidLogin
  const { workspace, role } = membership
  const actor = { kind: 'user', userId: user.id, role } as const
  return inAccountTransaction({ ...ctx, workspaceId: workspace.id, actor }, async (ctx) => {
    // A concurrent password reset ends all sessions: none may be opened with the old password after it.
    const isUnchanged = and(eq(users.id, user.id), eq(users.passwordHash, user.passwordHash))
    const unchanged = await ctx.db.select({ id: users.id }).from(users).where(isUnchanged).for('share')
    if (unchanged.length === 0) throw invalidLogin
    return openSession(ctx, toUser(user), toWorkspace(workspace))
  }).catch(
    // The member was removed concurrently.
    onConstraint('sessions_member_fk', () => invalidLogin),
  )
}

/** Ends the session of this token immediately. Throws `forbidden` for an API key, which has no session. */
export async function logOut(ctx: Ctx, token: string): Promise<void> {
  if (ctx.actor.kind === 'apiKey') {
    throw new AppError('forbidden', 'An API key has no session: to revoke the key, call DELETE /api-keys/{id}')
  }
  await inAccountTransaction(ctx, async (ctx) => {
    const [ended] = await ctx.db
      .delete(sessions)
      .where(and(eq(sessions.workspaceId, ctx.workspaceId), eq(sessions.tokenHash, hashToken(token))))
      .returning({ id: sessions.id })
    if (ended) await audit(ctx, 'session.deleted', { subjectId: ended.id })
  })
}

/** Deletes expired sessions, at most 1,000, and returns the number. */
export async function purgeSessions(db: Db): Promise<number> {
  return inAccountTransaction({ db }, ({ db }) => purgeRows(db, sessions, lt(sessions.expiresAt, sql`now()`)))
}

async function openSession(ctx: Ctx, user: User, workspace: Workspace): Promise<Session> {
  const id = newId('ses')
  const token = newToken('rps')
  const expiresAt = timestampAt(Date.now() + sessionDays * 24 * 60 * 60 * 1000)
  await ctx.db
    .insert(sessions)
    .values({ id, tokenHash: hashToken(token), workspaceId: workspace.id, userId: user.id, expiresAt })
  await audit(ctx, 'session.created', { subjectId: id })
  return { token, expiresAt, user, workspace }
}
