import { eq, sql } from 'drizzle-orm'
import { normalizeClientIp } from '../kernel/client-ip.ts'
import type { BaseCtx } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { AppError } from '../kernel/errors.ts'
import { loginFailures } from '../db/schema/index.ts'
import { hashToken } from '../kernel/crypto.ts'
import { verifyPassword } from './passwords.ts'
import { findUserByEmail } from './users.ts'

/** Wrong passwords in a row, of one kind. So many are free; then a second passes before the next try, two, four and so on. */
interface FailureCounter {
  hash: string
  freeAttempts: number
}

/** Of one client alone: nobody else is held up by it. */
const toClientCounter = ({ address = '' }: BaseCtx, email: string): FailureCounter => ({
  // No address holds a line break: none is taken for another's from a client.
  hash: hashToken(`${email.toLowerCase()}\n${normalizeClientIp(address) ?? ''}`),
  freeAttempts: 10,
})
/** Of all clients that the address was never used from, so that a thousand of them are no thousand times as many tries. */
const toUnknownClientsCounter = (email: string): FailureCounter => ({
  hash: hashToken(email.toLowerCase()),
  freeAttempts: 50,
})

const maxWaitSeconds = 900
const knownPeriodEnd = sql`now() + interval '90 days'`

/**
 * The user of this address and password; undefined when either is wrong, in the same time. Failures are counted by the
 * address, known or not, for each client, and for all clients together that the address was not used from in the last
 * ninety days. Whoever tries many must wait (`throttled`), with the right password too, but never for good; who
 * fails on purpose locks nobody out of where they have logged in before.
 */
export async function verifyCredentials(
  ctx: BaseCtx,
  email: string,
  password: string,
): Promise<Awaited<ReturnType<typeof findUserByEmail>>> {
  const counters = await countAttempt(ctx, email)
  const user = await findUserByEmail(ctx, email)
  const isCorrect = await verifyPassword(user?.passwordHash, password).catch(async (error: unknown) => {
    await uncountAttempt(ctx, counters)
    throw error
  })
  if (!isCorrect) return undefined
  await uncountAttempt(ctx, counters)
  await rememberClient(ctx, email)
  return user
}

/** For who has proved that the address is theirs: no failure of theirs counts, and from here no stranger's. */
export async function rememberClient(ctx: BaseCtx, email: string): Promise<void> {
  const knownClient = { count: 0, knownUntil: knownPeriodEnd }
  await ctx.db
    .insert(loginFailures)
    .values({ emailHash: toClientCounter(ctx, email).hash, ...knownClient })
    .onConflictDoUpdate({ target: loginFailures.emailHash, set: knownClient })
}

/** Forgets failures of more than a day ago, and clients that were not seen for long, a few at a time. Answers how many. */
export async function purgeLoginFailures(db: Db): Promise<number> {
  const result = await db.execute(sql`
    delete from login_failures where email_hash in (
      select email_hash from login_failures
      where last_failed_at < now() - interval '1 day' and coalesce(known_until < now(), true) limit 1000)`)
  return result.rowCount ?? 0
}

/** Before the password is looked at. Answers by what it counted. */
async function countAttempt(ctx: BaseCtx, email: string): Promise<FailureCounter[]> {
  const [client, unknownClients] = [toClientCounter(ctx, email), toUnknownClientsCounter(email)]
  const { isKnown } = await incrementCounter(ctx, client)
  if (isKnown) return [client]
  await incrementCounter(ctx, unknownClients).catch(async (error: unknown) => {
    await uncountAttempt(ctx, [client])
    throw error
  })
  return [client, unknownClients]
}

/** In one statement: of many tries at once no more than are due go on. */
async function incrementCounter(
  { db }: BaseCtx,
  { hash, freeAttempts }: FailureCounter,
): Promise<{ isKnown: boolean }> {
  const { count, lastFailedAt, knownUntil } = loginFailures
  const blockedUntil = sql`${lastFailedAt} +
    make_interval(secs => least(${maxWaitSeconds}::int, power(2, least(${count} - ${freeAttempts}::int, 10))))`
  const [counted] = await db
    .insert(loginFailures)
    .values({ emailHash: hash, count: 1 })
    .onConflictDoUpdate({
      target: loginFailures.emailHash,
      set: { count: sql`${count} + 1`, lastFailedAt: sql`now()` },
      setWhere: sql`${count} < ${freeAttempts}::int or ${blockedUntil} <= now()`,
    })
    .returning({ isKnown: sql<boolean>`coalesce(${knownUntil} > now(), false)` })
  if (counted) return counted
  const secondsLeft = sql<number>`ceil(extract(epoch from ${blockedUntil} - now()))::int`
  const [row] = await db.select({ seconds: secondsLeft }).from(loginFailures).where(eq(loginFailures.emailHash, hash))
  throw new AppError('throttled', 'Too many wrong passwords', { retryAfterSeconds: Math.max(1, row?.seconds ?? 1) })
}

/** It was no failure: nobody looked at the password, or it was right. */
async function uncountAttempt({ db }: BaseCtx, counted: FailureCounter[]): Promise<void> {
  for (const { hash } of counted) {
    await db
      .update(loginFailures)
      .set({ count: sql`greatest(${loginFailures.count} - 1, 0)` })
      .where(eq(loginFailures.emailHash, hash))
  }
}
