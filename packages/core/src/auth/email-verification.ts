import { inAccountTransaction } from './account-transaction.ts'
import { and, eq, isNull, sql } from 'drizzle-orm'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { AppError, conflict, invalidToken } from '../kernel/errors.ts'
import { idOf, type UserId, uuidOf } from '../kernel/ids.ts'
import { mailTexts } from '../mail/texts/mail-texts.ts'
import { readMailLanguage } from '../workspaces/mail-language.ts'
import { renderServiceMail } from '../mail/service-mail.ts'
import { enqueueMail, type Mail } from '../mail/mails.ts'
import type { OutgoingMail } from '../mail/outgoing-mail.ts'
import { users } from '../db/schema/index.ts'
import { verifyPayload, signPayload } from '../kernel/crypto.ts'
import { findBrandingOfUser } from '../workspaces/branding.ts'
import type { VerifyEmailInput } from './auth.schema.ts'
import { verifyCredentials } from './login-throttle.ts'
import type { AccountOfLink } from './password-resets.ts'
import { markEmailVerified } from './users.ts'

const purpose = 'verify email'
const lifetimeMs = 7 * 24 * 60 * 60 * 1000

/**
 * Sends another verification email to the user of the session, whose browser has this locale. Throws `forbidden` for an
 * API key, and `quota_exceeded` within an hour of the previous email.
 */
export async function resendVerificationMail(ctx: Ctx, locale?: string): Promise<void> {
  if (ctx.actor.kind !== 'user') throw new AppError('forbidden', 'An API key has no email address')
  const { userId } = ctx.actor
  const waitSeconds = sql<
    number | null
  >`ceil(extract(epoch from ${users.verificationMailedAt} + interval '1 hour' - now()))::int`
  await inAccountTransaction(ctx, async (ctx) => {
    const [user] = await ctx.db
      .select({ email: users.email, emailVerifiedAt: users.emailVerifiedAt, waitSeconds })
      .from(users)
      .where(eq(users.id, userId))
      .for('no key update')
    if (!user || user.emailVerifiedAt) throw conflict('wrong_state', 'The email address is already verified')
    const retryAfterSeconds = user.waitSeconds ?? 0
    if (retryAfterSeconds > 0)
      throw new AppError('quota_exceeded', 'A verification email was sent less than an hour ago', { retryAfterSeconds })
    await ctx.db.update(users).set({ verificationMailedAt: sql`now()` }).where(eq(users.id, userId))
    await enqueueVerificationMail(ctx, { id: userId, email: user.email, locale })
  })
}

interface UnverifiedUser {
  id: UserId
  email: string
  /** The language of the user's browser. */
  locale: string | undefined
}

/** Emails a user. The caller has set `verificationMailedAt` to the present. */
export async function enqueueVerificationMail(ctx: Ctx, { id, email, locale }: UnverifiedUser): Promise<void> {
  const data = { userId: id, ...(locale !== undefined && { locale }) }
  await enqueueMail(ctx, { kind: 'EMAIL_VERIFICATION', to: email, data })
}

/** Finds the account that a token verifies. Changes nothing. Throws `invalid_token` if the token is expired. */
export async function inspectVerification(base: BaseCtx, token: string): Promise<AccountOfLink> {
  const user = await findUserByToken(base, token)
  return { email: user.email, branding: await findBrandingOfUser(base, user.id) }
}

async function findUserByToken(base: BaseCtx, token: string): Promise<{ id: UserId; email: string }> {
  const [uuid, issuedAt] = verifyPayload(base.settings.keys.links, purpose, token) ?? []
  if (uuid === undefined || Date.now() - Number(issuedAt) > lifetimeMs) throw invalidToken()
  const id = idOf('usr', String(uuid))
  const [user] = await base.db.select({ id: users.id, email: users.email }).from(users).where(eq(users.id, id))
  if (!user) throw invalidToken()
  return user
}

/**
 * Marks the email address of a user as verified. Requires the token of the email and the password: an attacker can sign
 * up with another person's address, and that person may open the link.
 */
export async function verifyEmail(base: BaseCtx, { token, password }: VerifyEmailInput): Promise<void> {
  const account = await findUserByToken(base, token)
  const user = await verifyCredentials(base, account.email, password)
  if (user?.id !== account.id) throw new AppError('unauthorized', 'The password is wrong')
  await markEmailVerified(base, account.id)
}

/** Renders the email with the link. Returns undefined if the address is already verified. */
export async function renderVerificationMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const id = mail.data.userId
  if (!id) return undefined
  const isUnverified = and(eq(users.id, id), isNull(users.emailVerifiedAt))
  if ((await ctx.db.$count(users, isUnverified)) === 0) return undefined
  // Uses the creation time of the mail, so that a retry contains the same link.
  const token = signPayload(ctx.settings.keys.links, purpose, [uuidOf(id), Date.parse(mail.createdAt)])
  const language = await readMailLanguage(ctx, mail)
  const texts = mailTexts[language.language].verification
  return renderServiceMail(ctx, mail, {
    language,
    title: texts.title,
    paragraphs: [texts.text(new URL(ctx.settings.publicUrl).host, mail.toAddress), texts.request],
    button: { label: texts.button, url: `${ctx.settings.publicUrl}/verify-email?token=${token}` },
    small: texts.small,
  })
}
