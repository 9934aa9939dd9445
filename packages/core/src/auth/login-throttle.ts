import { and, eq, isNull, lt, or, sql } from 'drizzle-orm'
import { normalizeClientIp } from '../kernel/client-ip.ts'
import type { BaseCtx } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { AppError } from '../kernel/errors.ts'
import { loginFailures } from '../db/schema/index.ts'
import { purgeRows } from '../db/statements/purge-rows.ts'
import { hashToken } from '../kernel/crypto.ts'
import { auditFailedLogin } from './account-audit.ts'
import { verifyPassword } from './passwords.ts'
import { findUserByEmail } from './users.ts'

/** Consecutive failed attempts. After `freeAttempts`, each failure doubles the wait: 1, 2, 4 seconds and so on. */
interface FailureCounter {
  hash: string
  freeAttempts: number
}

/** Counts the failures of one client for an email. They delay only this client. */
const toClientCounter = ({ address = '' }: BaseCtx, email: string): FailureCounter => ({
  // Neither part contains a line break, so that the joined text is unambiguous.
  hash: hashToken(`${email.toLowerCase()}\n${normalizeClientIp(address) ?? ''}`),
  freeAttempts: 10,
})
/** Counts the failures of all unknown clients for an email, so that more clients do not mean more attempts. */
const toUnknownClientsCounter = (email: string): FailureCounter => ({
  hash: hashToken(email.toLowerCase()),
  freeAttempts: 50,
})

const maxWaitSeconds = 900
const knownPeriodEnd = sql`now() + interval '90 days'`

/**
 * Returns the user of this email and password. Returns undefined if either is wrong, in constant time. Failures are
 * counted per email, whether or not it has an account: for each client, and in total for all clients without a
 * successful login in the last 90 days. Above the limit, attempts throw `rate_limited`, even with the correct password.
 * The wait never exceeds 15 minutes, and failures of other clients never delay a client that has logged in before. The
 * audit log of each workspace of the account records a wrong password.
 */
export async function verifyCredentials(
  ctx: BaseCtx,
  email: string,
  password: string,
): Promise<Awaited<ReturnType<typeof findUserByEmail>>> {
  const { counters, isKnown, waitSeconds } = await countAttempt(ctx, email)
  const user = await findUserByEmail(ctx, email)
  const client = isKnown ? 'known' : 'unknown'
  const isCorrect = await verifyPassword(user?.passwordHash, password, client).catch(async (error: unknown) => {
    await uncountAttempt(ctx, counters)
    throw error
  })
  if (!isCorrect) {
    await auditFailedLogin(ctx, { userId: user?.id, waitSeconds })
    return undefined
  }
  await uncountAttempt(ctx, counters)
  await rememberClient(ctx, email)
  return user
}

/** Resets the failures of a client and marks it as known for 90 days, after a login or a password reset. */
export async function rememberClient(ctx: BaseCtx, email: string): Promise<void> {
  const knownClient = { count: 0, knownUntil: knownPeriodEnd }
  await ctx.db
    .insert(loginFailures)
    .values({ emailHash: toClientCounter(ctx, email).hash, ...knownClient })
    .onConflictDoUpdate({ target: loginFailures.emailHash, set: knownClient })
}

/**
 * Deletes counters without a failure in the last day, except those of known clients. Deletes at most 1,000 and returns
 * the number.
 */
export async function purgeLoginFailures(db: Db): Promise<number> {
  const { lastFailedAt, knownUntil } = loginFailures
  const isUnknown = or(isNull(knownUntil), lt(knownUntil, sql`now()`))
  return purgeRows(db, loginFailures, and(lt(lastFailedAt, sql`now() - interval '1 day'`), isUnknown))
}

interface Attempt {
  /** The incremented counters. */
  counters: FailureCounter[]
  /** Whether the client has logged in with this email before. */
  isKnown: boolean
  /** How long the next attempts must wait if this one fails; 0 below the limits. */
  waitSeconds: number
}

/** Counts the attempt before the password is verified. */
async function countAttempt(ctx: BaseCtx, email: string): Promise<Attempt> {
  const [client, unknownClients] = [toClientCounter(ctx, email), toUnknownClientsCounter(email)]
  const { isKnown, waitSeconds } = await incrementCounter(ctx, client)
  if (isKnown) return { counters: [client], isKnown, waitSeconds }
  const shared = await incrementCounter(ctx, unknownClients).catch(async (error: unknown) => {
    await uncountAttempt(ctx, [client])
    throw error
  })
  return { counters: [client, unknownClients], isKnown, waitSeconds: Math.max(waitSeconds, shared.waitSeconds) }
}

/** One statement, so that concurrent attempts cannot exceed the limit. */
async function incrementCounter(
  { db }: BaseCtx,
  { hash, freeAttempts }: FailureCounter,
): Promise<Pick<Attempt, 'isKnown' | 'waitSeconds'>> {
  const { count, lastFailedAt, knownUntil } = loginFailures
  const wait = sql`least(${maxWaitSeconds}::int, power(2, least(${count} - ${freeAttempts}::int, 10)))`
  const blockedUntil = sql`${lastFailedAt} + make_interval(secs => ${wait})`
  const [counted] = await db
    .insert(loginFailures)
    .values({ emailHash: hash, count: 1 })
    .onConflictDoUpdate({
      target: loginFailures.emailHash,
      set: { count: sql`${count} + 1`, lastFailedAt: sql`now()` },
      setWhere: sql`${count} < ${freeAttempts}::int or ${blockedUntil} <= now()`,
    })
    .returning({
      isKnown: sql<boolean>`coalesce(${knownUntil} > now(), false)`,
      waitSeconds: sql<number>`case when ${count} < ${freeAttempts}::int then 0 else ${wait}::int end`,
    })
  if (counted) return counted
  const secondsLeft = sql<number>`ceil(extract(epoch from ${blockedUntil} - now()))::int`
  const [row] = await db.select({ seconds: secondsLeft }).from(loginFailures).where(eq(loginFailures.emailHash, hash))
  throw new AppError('rate_limited', 'Too many wrong passwords', { retryAfterSeconds: Math.max(1, row?.seconds ?? 1) })
}

/** Reverses the count of an attempt that was correct or whose password could not be verified. */
async function uncountAttempt({ db }: BaseCtx, counters: FailureCounter[]): Promise<void> {
  for (const { hash } of counters) {
    await db
      .update(loginFailures)
      .set({ count: sql`greatest(${loginFailures.count} - 1, 0)` })
      .where(eq(loginFailures.emailHash, hash))
  }
}
