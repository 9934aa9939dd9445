/** Recovers orphaned claims: those of crashed workers, and those of running workers that no job is working on. */
import { and, not, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { interruptRecipients } from '../campaigns/recipient-counters.ts'
import type { Db } from '../db/client.ts'
import { campaignBatches, campaignRecipients, imports, mails, webhookDrains, workers } from '../db/schema/index.ts'
import { transaction } from '../db/transaction.ts'
import { finishWork, requeueWork } from '../jobs/outbox.ts'
import { wakeForWebhooks } from '../jobs/wake-relays.ts'
import { heartbeatTimeoutMs, isSeenWithin } from '../jobs/worker-registry.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { type AnyMailKind, type MailKind, maxMailAttempts } from '../mail/mails.ts'

/** Advisory lock: one worker recovers at a time. */
const recoveryLock = 7_277_679

/** The number of deliveries, and of mails by kind, that became INTERRUPTED. */
export interface InterruptedCounts {
  deliveries: number
  mails: Partial<Record<AnyMailKind, number>>
}

/**
 * Releases the claims of crashed workers. Deliveries and campaign mails that may have been sent become INTERRUPTED:
 * they are shown, and only a user can send them again. Work that is safe to repeat is requeued. That includes single
 * mails such as confirmations, because a duplicate is better than none. It excludes test mails and last attempts.
 */
export async function recoverOrphanedClaims(db: Db, timeoutMs = heartbeatTimeoutMs): Promise<InterruptedCounts> {
  return transaction(db, async (db) => {
    const lock = await db.execute(sql`select pg_try_advisory_xact_lock(${recoveryLock}) as taken`)
    if (!lock.rows[0]?.['taken']) return { deliveries: 0, mails: {} }
    await db.delete(workers).where(not(isSeenWithin(timeoutMs)))
    const claims = await listClaims(db)
    // Read after the claims: a worker registers before its first claim.
    const registered = new Set((await db.select({ id: workers.id }).from(workers)).map(({ id }) => id))
    const orphaned = claims.filter(({ worker_id }) => !registered.has(worker_id))
    const crashed = sql.param([...new Set(orphaned.map(({ worker_id }) => worker_id))])
    return releaseClaims(db, orphaned, {
      isOrphaned: (claim) => sql`${claim.workerId} = any(${crashed}::uuid[])`,
      error: 'The worker crashed or lost the database connection during the attempt',
    })
  })
}

/** Finds the claims of this worker: the UUIDs of the subjects of its jobs. See `releaseOrphanedClaim`. */
export async function findClaims(db: Db, workerId: string): Promise<string[]> {
  return (await listClaims(db, workerId)).map(({ id }) => id)
}

/** A claim of a worker. All ids are UUIDs; `id` is the subject of a job. */
interface Claim extends Record<string, unknown> {
  workspace_id: string
  worker_id: string
  id: string
}

/** Lists the claims of all workers, or of one. */
async function listClaims(db: Db, workerId?: string): Promise<Claim[]> {
  const isClaimed = workerId ? sql`worker_id = ${workerId}` : sql`worker_id is not null`
  const result = await db.execute<Claim>(sql`
    select workspace_id, worker_id, webhook_id as id from webhook_drains where ${isClaimed}
    union select workspace_id, worker_id, id from mails where status = 'SENDING' and ${isClaimed}
    union select workspace_id, worker_id, id from imports where status = 'RUNNING' and ${isClaimed}
    union select workspace_id, worker_id, id from campaign_batches where status = 'SENDING' and ${isClaimed}
    union select workspace_id, worker_id, batch_id from campaign_recipients where status = 'SENDING' and ${isClaimed}`)
  return result.rows
}

/**
 * Releases a claim of a running worker that none of its jobs is working on, as if the worker had crashed: the outcome
 * could not be recorded, or the claim was committed after the job had timed out.
 */
export function releaseOrphanedClaim(db: Db, workerId: string, uuid: string): Promise<InterruptedCounts> {
  const isOrphaned: ClaimCondition = (claim, subject) =>
    sql`${claim.workerId} = ${workerId} and ${subject} = ${sql.param(uuid)}`
  return transaction(db, async (db) => {
    const claims = await listClaims(db, workerId)
    const orphaned = claims.filter(({ id }) => id === uuid)
    return releaseClaims(db, orphaned, { isOrphaned, error: 'The outcome could not be recorded' })
  })
}

/**
 * A condition that selects the claims to release in one table. `subject` is the column with the UUID that jobs carry.
 */
type ClaimCondition = (claim: Record<'workspaceId' | 'workerId', SQLWrapper>, subject: SQLWrapper) => SQL

interface Release {
  isOrphaned: ClaimCondition
  /** The error of what becomes INTERRUPTED. */
  error: string
}

/** A literal, not a parameter: the planner uses a partial index only if it can see the value. */
const isSending = (claim: { status: SQLWrapper }) => sql`${claim.status} = 'SENDING'`

/** Releases the orphaned claims in the workspaces of these claims, one workspace after the other. */
async function releaseClaims(db: Db, claims: readonly Claim[], { isOrphaned, error }: Release) {
  const total: InterruptedCounts = { deliveries: 0, mails: {} }
  for (const uuid of [...new Set(claims.map(({ workspace_id }) => workspace_id))].toSorted()) {
    const scope = { db, workspaceId: idOf('wsp', uuid) }
    const isOrphanedHere: ClaimCondition = (claim, subject) =>
      sql`${claim.workspaceId} = ${uuid} and ${isOrphaned(claim, subject)}`
    total.deliveries += await releaseBacklogs(scope, isOrphanedHere(webhookDrains, webhookDrains.webhookId), error)
    const recipients = await releaseCampaignBatches(scope, { isOrphaned: isOrphanedHere, error })
    const singleMails = await releaseMails(scope, { isOrphaned: isOrphanedHere, error })
    await releaseImports(scope, isOrphanedHere)
    for (const [kind, count] of Object.entries({ ...(recipients > 0 && { CAMPAIGN: recipients }), ...singleMails })) {
      total.mails[kind as AnyMailKind] = (total.mails[kind as AnyMailKind] ?? 0) + count
    }
  }
  return total
}

type Scope = Pick<Ctx, 'db' | 'workspaceId'>

/**
 * Deliveries whose requests the worker may have sent become INTERRUPTED; the rest of the backlog remains PENDING. Locks
 * the rows of `webhook_drains` before the deliveries, like a take.
 */
async function releaseBacklogs({ db, workspaceId }: Scope, isOrphaned: SQL, error: string): Promise<number> {
  const claims = await db
    .select({
      webhookId: webhookDrains.webhookId,
      deliveryIds: webhookDrains.deliveryIds,
    })
    .from(webhookDrains)
    .where(isOrphaned)
    .orderBy(webhookDrains.webhookId)
    .for('update')
  let interrupted = 0
  for (const { webhookId, deliveryIds } of claims) {
    const isOfWebhook = sql`workspace_id = ${uuidOf(workspaceId)} and webhook_id = ${uuidOf(webhookId)}`
    const result = await db.execute(sql`
      update deliveries d set status = 'INTERRUPTED', error = ${error},
        worker_id = drain.worker_id, attempted_at = drain.taken_at
      from webhook_drains drain, unnest(${sql.param(deliveryIds)}::uuid[]) as in_flight (id)
      where drain.workspace_id = ${uuidOf(workspaceId)} and drain.webhook_id = ${uuidOf(webhookId)}
        and d.workspace_id = ${uuidOf(workspaceId)} and d.webhook_id = drain.webhook_id and d.id = in_flight.id
        and d.status = 'PENDING'`)
    interrupted += result.rowCount ?? 0
    await db.execute(
      sql`update webhook_drains set worker_id = null, token = null, delivery_ids = '{}' where ${isOfWebhook}`,
    )
    wakeForWebhooks(db, workspaceId, [uuidOf(webhookId)])
  }
  return interrupted
}

async function releaseCampaignBatches(scope: Scope, { isOrphaned, error }: Release): Promise<number> {
  const isOrphanedRecipient = isOrphaned(campaignRecipients, campaignRecipients.batchId)
  const interrupted = await interruptRecipients(scope, isOrphanedRecipient, error)
  const released = await scope.db
    .update(campaignBatches)
    .set({ status: 'PENDING', workerId: null })
    .where(and(isSending(campaignBatches), isOrphaned(campaignBatches, campaignBatches.id)))
    .returning({ id: campaignBatches.id })
  await requeueWork(scope, released.map(toUuid))
  return interrupted
}

async function releaseMails(scope: Scope, { isOrphaned, error }: Release): Promise<Partial<Record<MailKind, number>>> {
  const isFinal = sql`(${mails.kind} = 'CAMPAIGN_TEST' or ${mails.attempts} >= ${maxMailAttempts})`
  const released = await scope.db
    .update(mails)
    .set({
      status: sql`case when ${isFinal} then 'INTERRUPTED' else 'PENDING' end`,
      error,
      settledAt: sql`case when ${isFinal} then ${new Date().toISOString()}::timestamptz end`,
    })
    .where(and(isSending(mails), isOrphaned(mails, mails.id)))
    .returning({ id: mails.id, kind: mails.kind, status: mails.status })
  const interrupted = released.filter((mail) => mail.status === 'INTERRUPTED')
  const pending = released.filter((mail) => mail.status === 'PENDING')
  await requeueWork(scope, pending.map(toUuid))
  await finishWork(scope, interrupted.map(toUuid))
  return countBy(interrupted, ({ kind }) => kind)
}

async function releaseImports(scope: Scope, isOrphaned: ClaimCondition) {
  const released = await scope.db
    .update(imports)
    .set({ status: 'QUEUED', workerId: null })
    .where(and(sql`${imports.status} = 'RUNNING'`, isOrphaned(imports, imports.id)))
    .returning({ id: imports.id })
  await requeueWork(scope, released.map(toUuid))
}

const toUuid = ({ id }: { id: Parameters<typeof uuidOf>[0] }) => uuidOf(id)

function countBy<Item, Key extends string>(items: readonly Item[], keyOf: (item: Item) => Key) {
  const counts = [...Map.groupBy(items, keyOf)].map(([key, group]) => [key, group.length] as const)
  return Object.fromEntries(counts) as Partial<Record<Key, number>>
}
