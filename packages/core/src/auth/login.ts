import { eq, sql } from 'drizzle-orm'
import type { BaseCtx } from '../context.ts'
import type { Db } from '../db.ts'
import { AppError } from '../errors.ts'
import { loginFailures } from '../schema.ts'
import { hashToken } from '../secrets.ts'
import { isPassword } from './passwords.ts'
import { findUser } from './users.ts'

const freeTries = 10

/** After ten failures an address waits a second before the next try, then two, four and so on, a quarter of an hour at most. */
const waitsUntil = sql`${loginFailures.lastFailedAt} +
  make_interval(secs => least(900, power(2, least(${loginFailures.count} - ${freeTries}, 10))))`

/**
 * The user of this address and password; undefined when either is wrong, in the same time. Failures are counted by the
 * address, known or not: whoever tries many must wait (`throttled`), with the right password too, but never for good.
 */
export async function findByPassword(
  ctx: BaseCtx,
  email: string,
  password: string,
): Promise<Awaited<ReturnType<typeof findUser>>> {
  await countTry(ctx, email)
  const user = await findUser(ctx, email)
  const isRight = await isPassword(user?.passwordHash, password).catch(async (error: unknown) => {
    await takeTryBack(ctx, email)
    throw error
  })
  if (isRight) await forgetFailures(ctx, email)
  return isRight ? user : undefined
}

/** For who has proved by other means that the address is theirs, or that the password is. */
export async function forgetFailures({ db }: BaseCtx, email: string): Promise<void> {
  await db.delete(loginFailures).where(isOf(email))
}

/** Forgets failures of more than a day ago, a few at a time. Answers how many. */
export async function purgeLoginFailures(db: Db): Promise<number> {
  const result = await db.execute(sql`
    delete from login_failures where email_hash in (
      select email_hash from login_failures where last_failed_at < now() - interval '1 day' limit 1000)`)
  return result.rowCount ?? 0
}

/** Before the password is looked at, and in one statement: of many tries at once no more than are due go on. */
async function countTry({ db }: BaseCtx, email: string): Promise<void> {
  const counted = await db
    .insert(loginFailures)
    .values({ emailHash: hashOf(email), count: 1 })
    .onConflictDoUpdate({
      target: loginFailures.emailHash,
      set: { count: sql`${loginFailures.count} + 1`, lastFailedAt: sql`now()` },
      setWhere: sql`${loginFailures.count} < ${freeTries} or ${waitsUntil} <= now()`,
    })
    .returning({ count: loginFailures.count })
  if (counted.length > 0) return
  const waiting = sql<number>`ceil(extract(epoch from ${waitsUntil} - now()))::int`
  const [row] = await db.select({ seconds: waiting }).from(loginFailures).where(isOf(email))
  throw new AppError('throttled', 'Too many wrong passwords', { retryAfterSeconds: Math.max(1, row?.seconds ?? 1) })
}

/** Nobody looked at the password: it was no failure. */
async function takeTryBack({ db }: BaseCtx, email: string): Promise<void> {
  await db
    .update(loginFailures)
    .set({ count: sql`${loginFailures.count} - 1` })
    .where(isOf(email))
}

const hashOf = (email: string) => hashToken(email.toLowerCase())
const isOf = (email: string) => eq(loginFailures.emailHash, hashOf(email))
