/**
 * Recovers orphaned claims: those of crashed workers, and those of a running worker that no job of it has. Mails and
 * deliveries that may have been sent and must not be repeated become INTERRUPTED: they are shown, and only a user can
 * send them again. What is safe to repeat is published again. That includes single mails such as confirmations, because
 * a duplicate is better than none. It excludes test mails and last attempts.
 */
import { not } from 'drizzle-orm'
import { recoverBatch } from '../../campaigns/sending.ts'
import type { Db } from '../../db/client.ts'
import { workers } from '../../db/schema/index.ts'
import { recoverEmail } from '../../emails/record-emails.ts'
import { type AnyMailKind, recoverMail } from '../../mail/mails.ts'
import { recoverDrain } from '../../webhooks/drain/recover-drain.ts'
import { type Claim, listClaims, type Recovery, releaseClaim } from '../../work/claims.ts'
import type { WorkKind } from '../../work/kinds.ts'
import { heartbeatTimeoutMs, isSeenWithin } from '../../work/worker-registry.ts'

/** The number of deliveries, and of mails by kind, that became INTERRUPTED. */
export interface InterruptedCounts {
  deliveries: number
  mails: Partial<Record<AnyMailKind, number>>
}

export interface Recovered extends InterruptedCounts {
  /** Of claims that could not be recovered yet. */
  errors: unknown[]
}

/** Recovers the claims of workers without a recent heartbeat. */
export async function recoverOrphanedClaims(db: Db, timeoutMs = heartbeatTimeoutMs): Promise<Recovered> {
  await db.delete(workers).where(not(isSeenWithin(timeoutMs)))
  const claims = await listClaims(db)
  const registered = new Set((await db.select({ id: workers.id }).from(workers)).map(({ id }) => id))
  const error = 'The worker crashed or lost the database connection during the attempt'
  return recoverAll(
    db,
    claims.filter(({ workerId }) => !registered.has(workerId)),
    { error, release: 'requeue' },
  )
}

/**
 * Recovers the claims of a running worker that it does not know anymore: an outcome could not be recorded, or the claim
 * was committed after its job had given up. `isLive`: whether the process still has a token.
 */
export async function recoverOwnClaims(
  db: Db,
  { workerId, isLive }: { workerId: string; isLive: (token: string) => boolean },
): Promise<Recovered> {
  const claims = await listClaims(db, workerId)
  const orphaned = claims.filter(({ tokens }) => !tokens.some(isLive))
  return recoverAll(db, orphaned, { error: 'The outcome could not be recorded', release: 'requeue' })
}

/** What may have happened during a claim whose outcome is unknown, by kind. */
const recoveries: Record<WorkKind, (...of: Parameters<typeof recoverDrain>) => Promise<Partial<InterruptedCounts>>> = {
  ACCOUNT_MAIL: recoverSingleMail,
  MAIL: recoverSingleMail,
  EMAIL: async (...of) => ((await recoverEmail(...of)) ? { mails: { EMAIL: 1 } } : {}),
  CAMPAIGN_BATCH: async (...of) => {
    const interrupted = await recoverBatch(...of)
    return interrupted > 0 ? { mails: { CAMPAIGN: interrupted } } : {}
  },
  DRAIN: async (...of) => ({ deliveries: await recoverDrain(...of) }),
  // Their steps are transactions: the next job continues after the last one.
  IMPORT: releaseOnly,
  CLEAR_LIST: releaseOnly,
  CLEAR_CUSTOM_FIELD: releaseOnly,
  RELEASE_COMPANY: releaseOnly,
  ERASE_CONTACT: releaseOnly,
  CLEAR_WORKSPACE: releaseOnly,
  VISITOR_MAILS: releaseOnly,
}

async function recoverSingleMail(...of: Parameters<typeof recoverMail>) {
  const kind = await recoverMail(...of)
  return kind ? { mails: { [kind]: 1 } } : {}
}

async function releaseOnly(db: Db, claim: Claim, { release }: Recovery) {
  await releaseClaim({ db }, claim, release)
  return {}
}

/** Ends a claim whose outcome is unknown. Does nothing if it has ended. */
export async function recoverClaim(db: Db, claim: Claim, recovery: Recovery): Promise<InterruptedCounts> {
  return { deliveries: 0, mails: {}, ...(await recoveries[claim.kind](db, claim, recovery)) }
}

/** A claim that cannot be recovered, such as one that a frozen transaction locks, does not hold up the others. */
async function recoverAll(db: Db, claims: readonly Claim[], recovery: Recovery): Promise<Recovered> {
  const total: Recovered = { deliveries: 0, mails: {}, errors: [] }
  for (const claim of claims) {
    try {
      const { deliveries, mails } = await recoverClaim(db, claim, recovery)
      total.deliveries += deliveries
      for (const [kind, count] of Object.entries(mails) as [AnyMailKind, number][])
        total.mails[kind] = (total.mails[kind] ?? 0) + count
    } catch (error) {
      total.errors.push(error)
    }
  }
  return total
}
