import { inAccountTransaction } from './account-transaction.ts'
import { and, asc, eq, gt, lt, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { type BaseCtx, type Ctx, publicContext } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { purgeRows } from '../db/statements/purge-rows.ts'
import { AppError, invalidToken, notFound } from '../kernel/errors.ts'
import { newId, type UserId, type WorkspaceId } from '../kernel/ids.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'
import { mailTexts } from '../mail/texts/mail-texts.ts'
import { readMailLanguage } from '../workspaces/mail-language.ts'
import { renderServiceMail } from '../mail/service-mail.ts'
import { enqueueMail, type Mail } from '../mail/mails.ts'
import type { OutgoingMail } from '../mail/outgoing-mail.ts'
import { members, passwordResets, sessions, users } from '../db/schema/index.ts'
import { hashToken, deriveMailToken, findStoredMailToken } from '../kernel/crypto.ts'
import { type Branding, findBrandingOfUser } from '../workspaces/branding.ts'
import type { ForgotPasswordInput, ResetPasswordInput } from './auth.schema.ts'
import { auditAccount, auditOperatorOfAccount, auditVisitorOfAccount } from './account-audit.ts'
import { rememberClient } from './login-throttle.ts'
import { checkPassword, hashPassword } from './passwords.ts'

const maxMailsPerHour = 3

/**
 * Emails a link to the user of this address, at most three an hour. The link is valid for an hour. The result does not
 * reveal whether the address has an account. `locale` is the language of the page of the request.
 */
export async function requestPasswordReset(
  base: BaseCtx,
  { email, locale }: ForgotPasswordInput & { locale?: string | undefined },
): Promise<void> {
  await inAccountTransaction(base, async (base) => {
    const user = await lockAccount(base, email)
    if (!user || (await countRecentResets(base.db, user.id)) >= maxMailsPerHour) return
    await mailPasswordReset(base, user, locale)
    await auditVisitorOfAccount(base, 'password_reset.requested', { userId: user.id })
  })
}

/**
 * The same for the operator, who learns why no email is sent: throws `not_found` without such a user, and
 * `quota_exceeded` after three emails within an hour. With `endSessions`, also ends every session of the user. Returns
 * their number. The operator gets no link: only the owner of the address can choose the password.
 */
export async function sendPasswordReset(
  base: BaseCtx,
  { email, endSessions }: { email: string; endSessions: boolean },
): Promise<{ userId: UserId; email: string; emailVerifiedAt: Timestamp | null; endedSessions: number }> {
  return inAccountTransaction(base, async (base) => {
    const user = await lockAccount(base, email)
    if (!user) throw notFound('User')
    if ((await countRecentResets(base.db, user.id)) >= maxMailsPerHour)
      throw new AppError(
        'quota_exceeded',
        `${user.email} got ${maxMailsPerHour} emails to reset the password this hour`,
      )
    await mailPasswordReset(base, user)
    await auditOperatorOfAccount(base, 'password_reset.requested', user.id)
    const endedSessions = endSessions ? await endAllSessions(base, user.id) : 0
    return { userId: user.id, email: user.email, emailVerifiedAt: user.emailVerifiedAt, endedSessions }
  })
}

interface Account {
  id: UserId
  email: string
  emailVerifiedAt: Timestamp | null
  /** The first workspace that the user joined. */
  workspaceId: WorkspaceId
}

/** Locks the user of the address. Undefined without a user, or without a workspace: then the user cannot log in. */
async function lockAccount(base: BaseCtx, email: string): Promise<Account | undefined> {
  const [user] = await base.db
    .select({ id: users.id, email: users.email, emailVerifiedAt: users.emailVerifiedAt })
    .from(users)
    .where(sql`lower(${users.email} collate "C") = lower(${email} collate "C")`)
    .for('no key update')
  if (!user) return undefined
  const [membership] = await base.db
    .select({ workspaceId: members.workspaceId })
    .from(members)
    .where(eq(members.userId, user.id))
    .orderBy(asc(members.createdAt))
    .limit(1)
  return membership && { ...user, ...membership }
}

async function mailPasswordReset(
  base: BaseCtx,
  { id: userId, email, workspaceId }: Account,
  locale?: string,
): Promise<void> {
  const id = newId('rst')
  await base.db.insert(passwordResets).values({
    id,
    userId,
    tokenHash: hashToken(deriveMailToken(base.settings.keys, 'rpr', id)),
    expiresAt: sql`now() + interval '1 hour'`,
  })
  const ctx = publicContext(base, workspaceId)
  await enqueueMail(ctx, {
    kind: 'PASSWORD_RESET',
    to: email,
    data: { passwordResetId: id, ...(locale !== undefined && { locale }) },
  })
}

/** Ends every session of the user, for the operator. Returns the number. */
async function endAllSessions(base: BaseCtx, userId: UserId): Promise<number> {
  const ended = await base.db
    .delete(sessions)
    .where(eq(sessions.userId, userId))
    .returning({ id: sessions.id, workspaceId: sessions.workspaceId })
  for (const { id, workspaceId } of ended) {
    await audit({ ...base, workspaceId, actor: { kind: 'system' } }, 'session.deleted', { subjectId: id })
  }
  return ended.length
}

/** What the page of a link shows: the address of the account, and its workspace if there is only one. */
export interface AccountOfLink {
  email: string
  branding: Branding | undefined
}

/** Finds the account that a token resets. Changes nothing. Throws `invalid_token` if the token is used or expired. */
export async function inspectPasswordReset(base: BaseCtx, token: string): Promise<AccountOfLink> {
  const user = await findUserByToken(base, token)
  return { email: user.email, branding: await findBrandingOfUser(base, user.id) }
}

async function findUserByToken(base: BaseCtx, token: string): Promise<{ id: UserId; email: string }> {
  const [user] = await base.db
    .select({ id: users.id, email: users.email })
    .from(passwordResets)
    .innerJoin(users, eq(users.id, passwordResets.userId))
    .where(isValidReset(token))
  if (!user) throw invalidToken()
  return user
}

function isValidReset(token: string) {
  return and(eq(passwordResets.tokenHash, hashToken(token)), gt(passwordResets.expiresAt, sql`now()`))
}

/**
 * Sets a new password with the single-use token of an email, and ends every session of the user. `onReset` runs in the
 * same transaction, with the user locked.
 */
export async function replacePassword(
  base: BaseCtx,
  { token, password }: ResetPasswordInput,
  onReset: (base: BaseCtx, userId: UserId) => Promise<void>,
): Promise<void> {
  const user = await findUserByToken(base, token)
  checkPassword(password, user.email)
  const passwordHash = await hashPassword(password, base.settings.passwordCost)
  await inAccountTransaction(base, async ({ db }) => {
    // Locks the user first: otherwise two resets of the same user could deadlock.
    await db.update(users).set({ passwordHash, updatedAt: sql`now()` }).where(eq(users.id, user.id))
    // Only one of several concurrent requests with the same token finds it valid.
    const used = await db
      .update(passwordResets)
      .set(expiredAtCreation)
      .where(isValidReset(token))
      .returning({ id: passwordResets.id })
    if (used.length === 0) throw invalidToken()
    await db.update(passwordResets).set(expiredAtCreation).where(eq(passwordResets.userId, user.id))
    // Before the sessions are deleted: `onReset` locks the memberships, and `lockActor` defines the order of locks.
    await onReset({ ...base, db }, user.id)
    await db.delete(sessions).where(eq(sessions.userId, user.id))
    await auditAccount({ ...base, db }, 'password_reset.completed', user.id)
    await rememberClient({ ...base, db }, user.email)
  })
}

/**
 * Expires a token at its creation, so that no clock considers it valid. The row still counts towards the hourly limit.
 */
const expiredAtCreation = { expiresAt: sql`${passwordResets.createdAt}` }

/**
 * Renders the email with the link. Returns undefined if the token has been used or has expired. The email comes from
 * `MAIL_FROM`: its bounce contains the link, which an ADMIN of one workspace, who names its sender, must not receive.
 */
export async function renderPasswordResetMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const id = mail.data.passwordResetId
  if (!id) return undefined
  const [reset] = await ctx.db
    .select({
      id: passwordResets.id,
      tokenHash: passwordResets.tokenHash,
      userId: users.id,
      emailVerifiedAt: users.emailVerifiedAt,
    })
    .from(passwordResets)
    .innerJoin(users, eq(users.id, passwordResets.userId))
    .where(and(eq(passwordResets.id, id), gt(passwordResets.expiresAt, sql`now()`)))
  const token = reset && findStoredMailToken(ctx.settings.keys, 'rpr', reset)
  if (!token) return undefined
  const url = `${ctx.settings.publicUrl}/reset-password?token=${token}`
  const language = await readMailLanguage(ctx, mail)
  const texts = mailTexts[language.language].passwordReset
  return renderServiceMail(ctx, mail, {
    language,
    branding: await findBrandingOfUser(ctx, reset.userId),
    title: texts.title,
    paragraphs: [texts.text(mail.toAddress), ...(reset.emailVerifiedAt ? [] : [texts.warning])],
    button: { label: texts.button, url },
    small: texts.small,
  })
}

/** Deletes resets that expired over an hour ago, at most 1,000, and returns the number. */
export async function purgePasswordResets(db: Db): Promise<number> {
  const hasExpired = lt(passwordResets.expiresAt, sql`now() - interval '1 hour'`)
  return inAccountTransaction({ db }, ({ db }) => purgeRows(db, passwordResets, hasExpired))
}

async function countRecentResets(db: Db, userId: UserId): Promise<number> {
  const recent = and(eq(passwordResets.userId, userId), gt(passwordResets.createdAt, sql`now() - interval '1 hour'`))
  return db.$count(passwordResets, recent)
}
