import { and, asc, eq, gt, sql } from 'drizzle-orm'
import { type BaseCtx, type Ctx, inTransaction, publicContext } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { invalidToken } from '../kernel/errors.ts'
import { newId, type UserId } from '../kernel/ids.ts'
import { renderServiceMail } from '../mail/service-mail.ts'
import { enqueueMail, type Mail } from '../mail/mails.ts'
import type { OutgoingMail } from '../mail/outgoing-mail.ts'
import { members, passwordResets, sessions, users } from '../db/schema/index.ts'
import { hashToken, deriveMailToken, findStoredMailToken } from '../kernel/crypto.ts'
import type { ForgotPasswordInput, ResetPasswordInput } from './auth.schema.ts'
import { rememberClient } from './login-throttle.ts'
import { checkPassword, hashPassword } from './passwords.ts'

const maxMailsPerHour = 3

/** Mails a link that lasts an hour to whoever has this address, three an hour at most. Tells nothing of whether anyone has. */
export async function requestPasswordReset(base: BaseCtx, { email }: ForgotPasswordInput): Promise<void> {
  await inTransaction(base, async (base) => {
    const [user] = await base.db
      .select()
      .from(users)
      .where(sql`lower(${users.email}) = lower(${email})`)
      .for('no key update')
    if (!user || (await countRecentResets(base.db, user.id)) >= maxMailsPerHour) return
    const [membership] = await base.db
      .select({ workspaceId: members.workspaceId })
      .from(members)
      .where(eq(members.userId, user.id))
      .orderBy(asc(members.createdAt))
      .limit(1)
    // Who is in no workspace has nowhere to log in to.
    if (!membership) return
    const id = newId('rst')
    await base.db.insert(passwordResets).values({
      id,
      userId: user.id,
      tokenHash: hashToken(deriveMailToken(base.settings.keys, 'rpr', id)),
      expiresAt: sql`now() + interval '1 hour'`,
    })
    const ctx = publicContext(base, membership.workspaceId)
    await enqueueMail(ctx, { kind: 'PASSWORD_RESET', to: user.email, data: { passwordResetId: id } })
  })
}

/**
 * Sets a new password by the token of an email, which is valid once, and ends every session of the user. `onReset` runs
 * in the same transaction, with the user locked.
 */
export async function replacePassword(
  base: BaseCtx,
  { token, password }: ResetPasswordInput,
  onReset: (base: BaseCtx, userId: UserId) => Promise<void>,
): Promise<void> {
  const isValidToken = and(eq(passwordResets.tokenHash, hashToken(token)), gt(passwordResets.expiresAt, sql`now()`))
  const [user] = await base.db
    .select({ id: users.id, email: users.email })
    .from(passwordResets)
    .innerJoin(users, eq(users.id, passwordResets.userId))
    .where(isValidToken)
  if (!user) throw invalidToken()
  checkPassword(password, user.email)
  const passwordHash = await hashPassword(password)
  await inTransaction(base, async ({ db }) => {
    // The user's row first: two tokens of one user would wait for each other otherwise.
    await db.update(users).set({ passwordHash, updatedAt: sql`now()` }).where(eq(users.id, user.id))
    // Of many at once, one finds it still good.
    const used = await db
      .update(passwordResets)
      .set(expiredAtCreation)
      .where(isValidToken)
      .returning({ id: passwordResets.id })
    if (used.length === 0) throw invalidToken()
    await db.update(passwordResets).set(expiredAtCreation).where(eq(passwordResets.userId, user.id))
    await db.delete(sessions).where(eq(sessions.userId, user.id))
    await onReset({ ...base, db }, user.id)
    await rememberClient({ ...base, db }, user.email)
  })
}

/** Never good again, whatever clock is asked. The row stays for a while, as it counts towards the mails of an hour. */
const expiredAtCreation = { expiresAt: sql`${passwordResets.createdAt}` }

const ownershipWarning =
  'This address was never confirmed, so that somebody else may have signed up with it. A new password therefore also revokes the API keys and invites that this account made, and switches off the webhooks of its workspaces. Have a look at their members afterwards.'

/** The mail with the link; undefined when it was used or has expired meanwhile. */
export async function renderPasswordResetMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const id = mail.data.passwordResetId
  if (!id) return undefined
  const [reset] = await ctx.db
    .select({ id: passwordResets.id, tokenHash: passwordResets.tokenHash, emailVerifiedAt: users.emailVerifiedAt })
    .from(passwordResets)
    .innerJoin(users, eq(users.id, passwordResets.userId))
    .where(and(eq(passwordResets.id, id), gt(passwordResets.expiresAt, sql`now()`)))
  const token = reset && findStoredMailToken(ctx.settings.keys, 'rpr', reset)
  if (!token) return undefined
  const url = `${ctx.settings.publicUrl}/reset-password?token=${token}`
  return renderServiceMail(ctx, mail, {
    title: 'Choose a new password',
    paragraphs: [
      `Somebody, hopefully you, forgot the password of ${mail.toAddress}.`,
      ...(reset.emailVerifiedAt ? [] : [ownershipWarning]),
    ],
    button: { label: 'Choose a new password', url },
    small: 'The link is good for an hour, and once. If it was not you, ignore this mail: your password stays as it is.',
  })
}

/** Forgets resets that expired over an hour ago, a few at a time. Answers how many. */
export async function purgePasswordResets(db: Db): Promise<number> {
  const result = await db.execute(sql`
    delete from password_resets where id in (
      select id from password_resets where expires_at < now() - interval '1 hour' limit 1000)`)
  return result.rowCount ?? 0
}

async function countRecentResets(db: Db, userId: UserId): Promise<number> {
  const recent = and(eq(passwordResets.userId, userId), gt(passwordResets.createdAt, sql`now() - interval '1 hour'`))
  return db.$count(passwordResets, recent)
}
