/**
 * Recovers orphaned claims: those of crashed workers, and those of a running worker that no job of it has. Mails and
 * deliveries that may have been sent and must not be repeated become INTERRUPTED: they are shown, and only a user can
 * send them again. What is safe to repeat is published again. That includes single mails such as confirmations, because
 * a duplicate is better than none. It excludes test mails and last attempts.
 */
import { not, sql } from 'drizzle-orm'
import { recoverBatch } from '../../campaigns/sending.ts'
import type { Db } from '../../db/client.ts'
import { webhookDrains, workers } from '../../db/schema/index.ts'
import { transaction } from '../../db/transaction.ts'
import { type WebhookId, type WorkspaceId, uuidOf } from '../../kernel/ids.ts'
import { type AnyMailKind, recoverMail } from '../../mail/mails.ts'
import { type Claim, listClaims, type Recovery, releaseClaim } from '../../work/claims.ts'
import type { WorkspaceWork } from '../../work/enqueue.ts'
import type { WorkKind } from '../../work/kinds.ts'
import { wakeForWebhooks } from '../../work/publisher.ts'
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
  const claims = await listAllClaims(db)
  const registered = new Set((await db.select({ id: workers.id }).from(workers)).map(({ id }) => id))
  const error = 'The worker crashed or lost the database connection during the attempt'
  return recoverAll(
    db,
    claims.filter(({ workerId }) => !registered.has(workerId)),
    { error, when: 'now' },
  )
}

/**
 * Recovers the claims of a running worker that it does not know anymore: an outcome could not be recorded, or the claim
 * was committed after its job had given up. `isLive` tells whether the process still has a token.
 */
export async function recoverOwnClaims(
  db: Db,
  { workerId, isLive }: { workerId: string; isLive: (token: string) => boolean },
): Promise<Recovered> {
  const claims = await listAllClaims(db, workerId)
  const orphaned = claims.filter(({ tokens }) => !tokens.some(isLive))
  return recoverAll(db, orphaned, { error: 'The outcome could not be recorded', when: 'now' })
}

/** What may have happened during a claim whose outcome is unknown, by kind. */
const recoveries: Record<WorkKind, (scope: WorkspaceWork, claim: Claim, recovery: Recovery) => Promise<Mails>> = {
  ACCOUNT_MAIL: recoverSingleMail,
  MAIL: recoverSingleMail,
  CAMPAIGN_BATCH: async (...args) => {
    const interrupted = await recoverBatch(...args)
    return interrupted > 0 ? { CAMPAIGN: interrupted } : {}
  },
  // Their steps are transactions: the next job continues after the last one.
  IMPORT: releaseOnly,
  CLEAR_LIST: releaseOnly,
  CLEAR_CUSTOM_FIELD: releaseOnly,
  ERASE_CONTACT: releaseOnly,
  CLEAR_WORKSPACE: releaseOnly,
}

type Mails = InterruptedCounts['mails']

async function recoverSingleMail(scope: WorkspaceWork, claim: Claim, recovery: Recovery): Promise<Mails> {
  const kind = await recoverMail(scope, claim, recovery)
  return kind ? { [kind]: 1 } : {}
}

async function releaseOnly(scope: WorkspaceWork, claim: Claim, { when }: Recovery): Promise<Mails> {
  await releaseClaim(scope, claim, when)
  return {}
}

/** Ends a claim whose outcome is unknown. Does nothing if it has ended. */
export async function recoverClaim(db: Db, claim: Claim, recovery: Recovery): Promise<InterruptedCounts> {
  const scope = { db, workspaceId: claim.workspaceId }
  return { deliveries: 0, mails: await recoveries[claim.kind](scope, claim, recovery) }
}

/** The claim of a webhook's backlog, see `webhooks/drain/backlog-claim.ts`. */
interface DrainClaim {
  workspaceId: WorkspaceId
  webhookId: WebhookId
  workerId: string
  tokens: readonly string[]
}

/** Lists the claims of all workers, or of one. */
export async function listAllClaims(db: Db, workerId?: string): Promise<(Claim | DrainClaim)[]> {
  const isClaimed = workerId ? sql`${webhookDrains.workerId} = ${workerId}` : sql`${webhookDrains.workerId} is not null`
  const { workspaceId, webhookId, workerId: owner, token } = webhookDrains
  const drains = await db
    .select({ workspaceId, webhookId, workerId: owner, token })
    .from(webhookDrains)
    .where(isClaimed)
  const claims = await listClaims(db, workerId)
  return [
    ...drains.flatMap(({ token, workerId, ...key }) =>
      token && workerId ? [{ ...key, workerId, tokens: [token] }] : [],
    ),
    ...claims,
  ]
}

/** A claim that cannot be recovered, such as one that a frozen transaction locks, does not hold up the others. */
async function recoverAll(db: Db, claims: readonly (Claim | DrainClaim)[], recovery: Recovery): Promise<Recovered> {
  const total: Recovered = { deliveries: 0, mails: {}, errors: [] }
  for (const claim of claims) {
    try {
      const { deliveries, mails } =
        'webhookId' in claim
          ? { deliveries: await recoverDrain(db, claim, recovery.error), mails: {} }
          : await recoverClaim(db, claim, recovery)
      total.deliveries += deliveries
      for (const [kind, count] of Object.entries(mails) as [AnyMailKind, number][])
        total.mails[kind] = (total.mails[kind] ?? 0) + count
    } catch (error) {
      total.errors.push(error)
    }
  }
  return total
}

/**
 * Deliveries whose requests the worker may have sent become INTERRUPTED; the rest of the backlog remains PENDING. Locks
 * the row of `webhook_drains` before the deliveries, like a take.
 */
function recoverDrain(db: Db, { workspaceId, webhookId, tokens }: DrainClaim, error: string): Promise<number> {
  return transaction(db, async (db) => {
    const isDrain = sql`workspace_id = ${uuidOf(workspaceId)} and webhook_id = ${uuidOf(webhookId)}`
    const isHeld = sql`${isDrain} and token = any(${sql.param([...tokens])}::uuid[])`
    const held = await db.execute<{ ids: string[] }>(
      sql`select delivery_ids as ids from webhook_drains where ${isHeld} for update`,
    )
    const [claim] = held.rows
    if (!claim) return 0
    const result = await db.execute(sql`
      update deliveries d set status = 'INTERRUPTED', error = ${error},
        worker_id = drain.worker_id, attempted_at = drain.taken_at
      from webhook_drains drain, unnest(${sql.param(claim.ids)}::uuid[]) as in_flight (id)
      where drain.workspace_id = ${uuidOf(workspaceId)} and drain.webhook_id = ${uuidOf(webhookId)}
        and d.workspace_id = ${uuidOf(workspaceId)} and d.webhook_id = drain.webhook_id and d.id = in_flight.id
        and d.status = 'PENDING'`)
    await db.execute(
      sql`update webhook_drains set worker_id = null, token = null, delivery_ids = '{}' where ${isDrain}`,
    )
    wakeForWebhooks(db, workspaceId, [uuidOf(webhookId)])
    return result.rowCount ?? 0
  })
}
