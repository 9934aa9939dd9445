/** Recovers orphaned claims: those of crashed workers, and those of running workers that no job is working on. */
import { and, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { interruptRecipients } from '../campaigns/recipient-counters.ts'
import type { Db } from '../db/client.ts'
import { campaignBatches, campaignRecipients, imports, mails, webhookDrains, workers } from '../db/schema/index.ts'
import { transaction } from '../db/transaction.ts'
import { changeByWorkspace, finishWork, requeueWork } from '../jobs/outbox.ts'
import { wakeForWebhooks } from '../jobs/wake-relays.ts'
import { heartbeatTimeout } from '../jobs/worker-registry.ts'
import { uuidOf, type WorkspaceId } from '../kernel/ids.ts'
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
export async function recoverOrphanedClaims(db: Db): Promise<InterruptedCounts> {
  return transaction(db, async (db) => {
    const lock = await db.execute(sql`select pg_try_advisory_xact_lock(${recoveryLock}) as taken`)
    if (!lock.rows[0]?.['taken']) return { deliveries: 0, mails: {} }
    await db.delete(workers).where(lt(workers.seenAt, sql`now() - ${heartbeatTimeout}`))
    return releaseClaims(
      db,
      isOwnerUnregistered,
      'The worker crashed or lost the database connection during the attempt',
    )
  })
}

/** Finds the claims of this worker: the UUIDs of the subjects of its jobs. See `releaseOrphanedClaim`. */
export async function findClaims(db: Db, workerId: string): Promise<string[]> {
  const isClaimed = sql`status = 'SENDING' and worker_id = ${workerId}`
  const result = await db.execute<{ id: string }>(sql`
    select webhook_id as id from webhook_drains where worker_id = ${workerId}
    union select id from mails where ${isClaimed}
    union select id from imports where status = 'RUNNING' and worker_id = ${workerId}
    union select id from campaign_batches where ${isClaimed}
    union select batch_id from campaign_recipients where ${isClaimed}`)
  return result.rows.map((row) => row.id)
}

/**
 * Releases a claim of a running worker that none of its jobs is working on, as if the worker had crashed: the outcome
 * could not be recorded, or the claim was committed after the job had timed out.
 */
export function releaseOrphanedClaim(db: Db, workerId: string, uuid: string): Promise<InterruptedCounts> {
  const isOrphaned: ClaimCondition = (claim, subject) =>
    sql`${claim.workerId} = ${workerId} and ${subject} = ${sql.param(uuid)}`
  return transaction(db, (db) => releaseClaims(db, isOrphaned, 'The outcome could not be recorded'))
}

/**
 * A condition that selects the claims to release in one table. `subject` is the column with the UUID that jobs carry.
 */
type ClaimCondition = (claim: { workerId: SQLWrapper }, subject: SQLWrapper) => SQL

/** A worker that is not in the worker registry no longer runs, and its claims are orphaned. */
const isOwnerUnregistered: ClaimCondition = (claim) =>
  sql`${claim.workerId} is not null and not exists (select from workers where workers.id = ${claim.workerId})`

/** A literal, not a parameter: the planner uses a partial index only if it can see the value. */
const isSending = (claim: { status: SQLWrapper }) => sql`${claim.status} = 'SENDING'`

async function releaseClaims(db: Db, isOrphaned: ClaimCondition, error: string): Promise<InterruptedCounts> {
  const deliveries = await releaseBacklogs(db, isOrphaned(webhookDrains, webhookDrains.webhookId), error)
  const recipients = await releaseCampaignBatches(db, isOrphaned, error)
  const singleMails = await releaseMails(db, isOrphaned, error)
  await releaseImports(db, isOrphaned)
  return { deliveries, mails: { ...(recipients > 0 && { CAMPAIGN: recipients }), ...singleMails } }
}

/**
 * Deliveries whose requests the worker may have sent become INTERRUPTED; the rest of the backlog remains PENDING. Locks
 * the rows of `webhook_drains` before the deliveries, like a take.
 */
async function releaseBacklogs(db: Db, isOrphaned: SQL, error: string): Promise<number> {
  const claims = await db
    .select({
      workspaceId: webhookDrains.workspaceId,
      webhookId: webhookDrains.webhookId,
      deliveryIds: webhookDrains.deliveryIds,
    })
    .from(webhookDrains)
    .where(isOrphaned)
    .orderBy(webhookDrains.workspaceId, webhookDrains.webhookId)
    .for('update')
  let interrupted = 0
  for (const { workspaceId, webhookId, deliveryIds } of claims) {
    const isOfWebhook = sql`workspace_id = ${uuidOf(workspaceId)} and webhook_id = ${uuidOf(webhookId)}`
    const result = await db.execute(sql`
      update deliveries d set status = 'INTERRUPTED', error = ${error},
        worker_id = drain.worker_id, attempted_at = drain.taken_at
      from webhook_drains drain, unnest(${sql.param(deliveryIds)}::uuid[]) as in_flight (id)
      where drain.workspace_id = ${uuidOf(workspaceId)} and drain.webhook_id = ${uuidOf(webhookId)}
        and d.workspace_id = drain.workspace_id and d.webhook_id = drain.webhook_id and d.id = in_flight.id
        and d.status = 'PENDING'`)
    interrupted += result.rowCount ?? 0
    await db.execute(
      sql`update webhook_drains set worker_id = null, token = null, delivery_ids = '{}' where ${isOfWebhook}`,
    )
    wakeForWebhooks(db, workspaceId, [uuidOf(webhookId)])
  }
  return interrupted
}

async function releaseCampaignBatches(db: Db, isOrphaned: ClaimCondition, error: string): Promise<number> {
  const isOrphanedRecipient = isOrphaned(campaignRecipients, campaignRecipients.batchId)
  const interrupted = await interruptRecipients(db, isOrphanedRecipient, error)
  const released = await db
    .update(campaignBatches)
    .set({ status: 'PENDING', workerId: null })
    .where(and(isSending(campaignBatches), isOrphaned(campaignBatches, campaignBatches.id)))
    .returning({ workspaceId: campaignBatches.workspaceId, id: campaignBatches.id })
  await changeByWorkspace(db, released.map(toWork), requeueWork)
  return interrupted
}

async function releaseMails(
  db: Db,
  isOrphaned: ClaimCondition,
  error: string,
): Promise<Partial<Record<MailKind, number>>> {
  const isFinal = sql`(${mails.kind} = 'CAMPAIGN_TEST' or ${mails.attempts} >= ${maxMailAttempts})`
  const released = await db
    .update(mails)
    .set({
      status: sql`case when ${isFinal} then 'INTERRUPTED' else 'PENDING' end`,
      error,
      settledAt: sql`case when ${isFinal} then now() end`,
    })
    .where(and(isSending(mails), isOrphaned(mails, mails.id)))
    .returning({ workspaceId: mails.workspaceId, id: mails.id, kind: mails.kind, status: mails.status })
  const interrupted = released.filter((mail) => mail.status === 'INTERRUPTED')
  const pending = released.filter((mail) => mail.status === 'PENDING')
  await changeByWorkspace(db, pending.map(toWork), requeueWork)
  await changeByWorkspace(db, interrupted.map(toWork), finishWork)
  return countBy(interrupted, ({ kind }) => kind)
}

async function releaseImports(db: Db, isOrphaned: ClaimCondition) {
  const released = await db
    .update(imports)
    .set({ status: 'QUEUED', workerId: null })
    .where(and(sql`${imports.status} = 'RUNNING'`, isOrphaned(imports, imports.id)))
    .returning({ workspaceId: imports.workspaceId, id: imports.id })
  await changeByWorkspace(db, released.map(toWork), requeueWork)
}

const toWork = ({ workspaceId, id }: { workspaceId: WorkspaceId; id: Parameters<typeof uuidOf>[0] }) => ({
  workspaceId,
  id: uuidOf(id),
})

function countBy<Item, Key extends string>(items: readonly Item[], keyOf: (item: Item) => Key) {
  const counts = [...Map.groupBy(items, keyOf)].map(([key, group]) => [key, group.length] as const)
  return Object.fromEntries(counts) as Partial<Record<Key, number>>
}
