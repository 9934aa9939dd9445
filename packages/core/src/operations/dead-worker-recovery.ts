/** Recovers what dead workers had claimed: here and nowhere else. */
import { lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { interruptRecipients } from '../campaigns/recipient-counters.ts'
import type { Db } from '../db/client.ts'
import { campaignBatches, campaignRecipients, deliveries, imports, mails, workers } from '../db/schema/index.ts'
import { transaction } from '../db/transaction.ts'
import { finishWork, requeueWork } from '../jobs/outbox.ts'
import { longestSilence } from '../jobs/worker-registry.ts'
import { uuidOf } from '../kernel/ids.ts'
import { maxMailAttempts } from '../mail/mails.ts'

/** Advisory lock: one worker recovers at a time. */
const recoveryLock = 7_277_679

/** How many became INTERRUPTED. */
export interface Interrupted {
  deliveries: number
  mails: number
}

/**
 * Sets right what is in the hands of no living worker. What may have reached the outside is INTERRUPTED, shown and
 * never repeated by itself; what is harmless to repeat goes back on its queue.
 */
export async function recoverOrphanedClaims(db: Db): Promise<Interrupted> {
  return transaction(db, async (db) => {
    const lock = await db.execute(sql`select pg_try_advisory_xact_lock(${recoveryLock}) as taken`)
    if (!lock.rows[0]?.['taken']) return { deliveries: 0, mails: 0 }
    await db.delete(workers).where(lt(workers.seenAt, sql`now() - ${longestSilence}`))
    return releaseClaims(db, heldByTheDead, 'The worker died, or lost the database, while it was out')
  })
}

/**
 * What the database says that this worker holds, by the UUIDs of its jobs' subjects. What of it the worker does not have
 * in hand is for `dropClaim`.
 */
export async function findClaims(db: Db, workerId: string): Promise<string[]> {
  const isHeld = sql`status = 'SENDING' and worker_id = ${workerId}`
  const result = await db.execute<{ id: string }>(sql`
    select id from deliveries where ${isHeld}
    union select id from mails where ${isHeld}
    union select id from imports where status = 'RUNNING' and worker_id = ${workerId}
    union select id from campaign_batches where ${isHeld}
    union select batch_id from campaign_recipients where ${isHeld}`)
  return result.rows.map((row) => row.id)
}

/**
 * Sets right what this worker holds of a subject that it has in hand no more, as by a death: how it ended could not be
 * recorded, or the claim came to be only after its caller had given it up.
 */
export function dropClaim(db: Db, workerId: string, uuid: string): Promise<Interrupted> {
  const isDropped: Held = (claim, subject, status = inHand) =>
    sql`${claim.status} = ${status} and ${claim.workerId} = ${workerId} and ${subject} = ${sql.param(uuid)}`
  return transaction(db, (db) => releaseClaims(db, isDropped, 'How it ended could not be recorded'))
}

/** Which claims of a table are meant; `subject` is its column that jobs name, `status` what it says of what is in hand. */
type Held = (claim: { status: SQLWrapper; workerId: SQLWrapper }, subject: SQLWrapper, status?: SQL) => SQL

/** As text, not as a parameter: the indexes are on just these rows. */
const inHand = sql`'SENDING'`

/** Asked of the claims and not of the workers' own rows: a claim made by one already struck off counts as well. */
const heldByTheDead: Held = (claim, _subject, status = inHand) =>
  sql`${claim.status} = ${status} and not exists (select from workers where workers.id = ${claim.workerId})`

async function releaseClaims(db: Db, isHeld: Held, error: string): Promise<Interrupted> {
  const deliveries = await interruptDeliveries(db, isHeld, error)
  const recipients = await releaseCampaignBatches(db, isHeld, error)
  const singleMails = await releaseMails(db, isHeld, error)
  await releaseImports(db, isHeld)
  return { deliveries, mails: recipients + singleMails }
}

async function interruptDeliveries(db: Db, isHeld: Held, error: string): Promise<number> {
  const interrupted = await db
    .update(deliveries)
    .set({ status: 'INTERRUPTED', error })
    .where(isHeld(deliveries, deliveries.id))
    .returning({ id: deliveries.id })
  await finishWork(
    db,
    interrupted.map((row) => uuidOf(row.id)),
  )
  return interrupted.length
}

async function releaseCampaignBatches(db: Db, isHeld: Held, error: string): Promise<number> {
  const interrupted = await interruptRecipients(db, isHeld(campaignRecipients, campaignRecipients.batchId), error)
  const released = await db
    .update(campaignBatches)
    .set({ status: 'PENDING', workerId: null })
    .where(isHeld(campaignBatches, campaignBatches.id))
    .returning({ id: campaignBatches.id })
  await requeueWork(
    db,
    released.map((row) => uuidOf(row.id)),
  )
  return interrupted
}

async function releaseMails(db: Db, isHeld: Held, error: string): Promise<number> {
  const isOver = sql`(${mails.kind} = 'CAMPAIGN_TEST' or ${mails.attempts} >= ${maxMailAttempts})`
  const released = await db
    .update(mails)
    .set({
      status: sql`case when ${isOver} then 'INTERRUPTED' else 'PENDING' end`,
      error,
      settledAt: sql`case when ${isOver} then now() end`,
    })
    .where(isHeld(mails, mails.id))
    .returning({ id: mails.id, status: mails.status })
  const uuidsWhere = (isPending: boolean) =>
    released.filter((mail) => (mail.status === 'PENDING') === isPending).map((mail) => uuidOf(mail.id))
  const interrupted = uuidsWhere(false)
  await requeueWork(db, uuidsWhere(true))
  await finishWork(db, interrupted)
  return interrupted.length
}

async function releaseImports(db: Db, isHeld: Held) {
  const released = await db
    .update(imports)
    .set({ status: 'QUEUED', workerId: null })
    .where(isHeld(imports, imports.id, sql`'RUNNING'`))
    .returning({ id: imports.id })
  await requeueWork(
    db,
    released.map((row) => uuidOf(row.id)),
  )
}
