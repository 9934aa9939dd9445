/**
 * SOFT bounces by address. A mailbox may be full, or its server away, for days: an address is undeliverable if three in
 * five of its mails bounced over at least seven days. These are its last five mails, or those of the seven days if there
 * were more.
 */
import { and, eq, lt, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { softBounces } from '../db/schema/index.ts'
import { isAnyOf } from '../db/statements/is-any-of.ts'
import { purgeRows } from '../db/statements/purge-rows.ts'
import type { Ctx } from '../request/context.ts'
import { hashEmail, hashEmails } from '../consent/hash-email.ts'
import { emailKey } from '../kernel/values/email-key.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'

const dayMs = 86_400_000
/** With fewer, no address is undeliverable. */
export const minBounces = 3
const lastMails = 5
const minSpanMs = 7 * dayMs

/**
 * Records that mails sent at these moments had a SOFT bounce. Returns the moments of all such mails to the addresses, by
 * `emailKey`.
 */
export async function recordSoftBounces(
  ctx: Ctx,
  bounces: readonly { email: string; mailedAt: Timestamp }[],
): Promise<Map<string, Timestamp[]>> {
  if (bounces.length === 0) return new Map()
  const { workspaceId } = ctx
  const added = bounces.map(({ email, mailedAt }) => ({ workspaceId, emailHash: hashEmail(ctx, email), mailedAt }))
  const inOneOrder = added.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  await ctx.db.insert(softBounces).values(inOneOrder).onConflictDoNothing()
  const emailOf = hashEmails(
    ctx,
    bounces.map(({ email }) => emailKey(email)),
  )
  const { emailHash, mailedAt } = softBounces
  const rows = await ctx.db
    .select({ emailHash, mailedAt })
    .from(softBounces)
    .where(isOf(ctx, [...emailOf.keys()]))
  const byEmail = Map.groupBy(rows, (row) => emailOf.get(row.emailHash) ?? '')
  return new Map([...byEmail].map(([email, of]) => [email, of.map((row) => row.mailedAt)]))
}

const keyOf = ({ emailHash, mailedAt }: { emailHash: string; mailedAt: Timestamp }) => `${emailHash} ${mailedAt}`

/** Decides by the moments of the mails to an address, and of those that had a SOFT bounce. */
export function isUndeliverable(bounced: readonly Timestamp[], mails: readonly Timestamp[]): boolean {
  const bouncedAt = toSortedTimes(bounced)
  const latest = bouncedAt[0] ?? 0
  const spanStart = bouncedAt.find((time) => time <= latest - minSpanMs)
  if (spanStart === undefined) return false
  const mailedAt = toSortedTimes(mails)
  const start = Math.min(spanStart, mailedAt[lastMails - 1] ?? mailedAt.at(-1) ?? spanStart)
  const countSince = (times: readonly number[]) => times.filter((time) => time >= start).length
  const bounces = countSince(bouncedAt)
  return bounces >= minBounces && bounces * lastMails >= Math.max(countSince(mailedAt), bounces) * minBounces
}

/** The latest first. */
const toSortedTimes = (moments: readonly Timestamp[]) =>
  moments.map((moment) => Date.parse(moment)).toSorted((one, other) => other - one)

/** Deletes the SOFT bounces of an address, when its contact is deleted or its bounce lifted. */
export async function deleteSoftBounces(ctx: Ctx, emailHashes: string[]): Promise<void> {
  await ctx.db.delete(softBounces).where(isOf(ctx, emailHashes))
}

/** Deletes the SOFT bounces of mails older than 180 days, at most 1,000, and returns the number. */
export const purgeSoftBounces = (db: Db): Promise<number> =>
  purgeRows(db, softBounces, lt(softBounces.mailedAt, sql`now() - interval '180 days'`))

const isOf = (ctx: Ctx, emailHashes: string[]) =>
  and(eq(softBounces.workspaceId, ctx.workspaceId), isAnyOf(softBounces.emailHash, emailHashes))
