import { and, eq, isNull, sql } from 'drizzle-orm'
import { type BaseCtx, type Ctx, inTransaction } from '../request/context.ts'
import { AppError, conflict, invalidToken } from '../kernel/errors.ts'
import { idOf, type UserId, uuidOf } from '../kernel/ids.ts'
import { renderServiceMail } from '../mail/service-mail.ts'
import { enqueueMail, type Mail } from '../mail/mails.ts'
import type { OutgoingMail } from '../mail/outgoing-mail.ts'
import { users } from '../db/schema/index.ts'
import { verifyPayload, signPayload } from '../kernel/crypto.ts'
import type { VerifyEmailInput } from './auth.schema.ts'
import { verifyCredentials } from './login-throttle.ts'
import { markEmailVerified } from './users.ts'

const purpose = 'verify email'
const lifetimeMs = 7 * 24 * 60 * 60 * 1000

/** Asks the user by mail to show that the address is theirs, at most once an hour: otherwise `throttled`. */
export async function sendVerificationMail(ctx: Ctx, userId: UserId): Promise<void> {
  const waitSeconds = sql<
    number | null
  >`ceil(extract(epoch from ${users.verificationMailedAt} + interval '1 hour' - now()))::int`
  await inTransaction(ctx, async (ctx) => {
    const [user] = await ctx.db
      .select({ email: users.email, emailVerifiedAt: users.emailVerifiedAt, waitSeconds })
      .from(users)
      .where(eq(users.id, userId))
      .for('no key update')
    if (!user || user.emailVerifiedAt) throw conflict('The address is verified already')
    const retryAfterSeconds = user.waitSeconds ?? 0
    if (retryAfterSeconds > 0) throw new AppError('throttled', 'You were asked a moment ago', { retryAfterSeconds })
    await ctx.db.update(users).set({ verificationMailedAt: sql`now()` }).where(eq(users.id, userId))
    await enqueueMail(ctx, { kind: 'EMAIL_VERIFICATION', to: user.email, data: { userId } })
  })
}

/** The same for whoever asks by a session of theirs. An API key is no person: `forbidden`. */
export async function resendVerificationMail(ctx: Ctx): Promise<void> {
  if (ctx.actor.kind !== 'user') throw new AppError('forbidden', 'An API key has no address')
  await sendVerificationMail(ctx, ctx.actor.userId)
}

/**
 * Notes that the address is the user's, who has both the token of a mail to it and the password. The token alone will
 * not do: whoever owns an address with which somebody else signed up could be led to press a button.
 */
export async function verifyEmail(base: BaseCtx, { token, password }: VerifyEmailInput): Promise<void> {
  const [uuid, issuedAt] = verifyPayload(base.settings.keys.links, purpose, token) ?? []
  if (uuid === undefined || Date.now() - Number(issuedAt) > lifetimeMs) throw invalidToken()
  const id = idOf('usr', String(uuid))
  const [account] = await base.db.select({ email: users.email }).from(users).where(eq(users.id, id))
  if (!account) throw invalidToken()
  const user = await verifyCredentials(base, account.email, password)
  if (user?.id !== id) throw new AppError('unauthenticated', 'The password is wrong')
  await markEmailVerified(base, id)
}

/** The mail with the link; undefined when it is verified meanwhile. */
export async function renderVerificationMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const id = mail.data.userId
  if (!id) return undefined
  const isUnverified = and(eq(users.id, id), isNull(users.emailVerifiedAt))
  if ((await ctx.db.$count(users, isUnverified)) === 0) return undefined
  // From the mail's own time, so that a second copy carries the same link.
  const token = signPayload(ctx.settings.keys.links, purpose, [uuidOf(id), mail.createdAt.getTime()])
  return renderServiceMail(ctx, mail, {
    title: 'Confirm your address',
    paragraphs: [`Somebody, hopefully you, signed up at ${new URL(ctx.settings.publicUrl).host} as ${mail.toAddress}.`],
    button: { label: 'Confirm address', url: `${ctx.settings.publicUrl}/verify-email?token=${token}` },
    small:
      'The link is good for seven days and asks for your password. If it was not you, ignore this mail; or ask there for a new password, and the account is yours.',
  })
}
