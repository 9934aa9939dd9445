/** Who is at work. A claim names its worker; what a dead worker had in hand is set right here, and nowhere else. */
import { hostname } from 'node:os'
import { and, eq, lt, type SQLWrapper, sql } from 'drizzle-orm'
import type { Db } from './db.ts'
import { uuidOf } from './ids.ts'
import { finishWork, requeueWork } from './outbox.ts'
import { campaignBatches, campaignRecipients, deliveries, imports, mails, workers } from './schema.ts'

/** How often a worker shows that it lives, and after what silence it counts as dead: by the database's clock. */
export const heartbeatMs = 3_000
const longestSilence = sql`interval '15 seconds'`
/** Any number, the same in every process: one worker at a time sets right what the dead left. */
const burialLock = 7_277_679

/** Shows that this worker lives; to be called before its first claim. One that was taken for dead comes back by this. */
export async function beat(db: Db, workerId: string): Promise<void> {
  await db
    .insert(workers)
    .values({ id: workerId, host: hostname() })
    .onConflictDoUpdate({ target: workers.id, set: { seenAt: sql`now()` } })
}

/** The worker leaves, with nothing in hand. Should it hold something all the same, it is interrupted as by a death. */
export async function leave(db: Db, workerId: string): Promise<void> {
  await db.delete(workers).where(eq(workers.id, workerId))
  await buryDeadWorkers(db)
}

/**
 * Sets right what is in the hands of no living worker. What may have reached the outside is INTERRUPTED, shown and
 * never repeated by itself; what is harmless to repeat goes back on its queue.
 */
export async function buryDeadWorkers(db: Db): Promise<void> {
  await db.transaction(async (db) => {
    const lock = await db.execute(sql`select pg_try_advisory_xact_lock(${burialLock}) as taken`)
    if (!lock.rows[0]?.['taken']) return
    await db.delete(workers).where(lt(workers.seenAt, sql`now() - ${longestSilence}`))
    await interruptDeliveries(db)
    await releaseCampaignBatches(db)
    await releaseMails(db)
    await releaseImports(db)
  })
}

/** Asked of the claims and not of the workers' own rows: a claim made by one already struck off counts as well. */
function heldByTheDead(table: { status: SQLWrapper; workerId: SQLWrapper }, status = 'SENDING') {
  return and(
    // As text, not as a parameter: the indexes are on just these rows.
    sql`${table.status} = ${sql.raw(`'${status}'`)}`,
    sql`not exists (select from workers where workers.id = ${table.workerId})`,
  )
}

async function interruptDeliveries(db: Db) {
  const interrupted = await db
    .update(deliveries)
    .set({ status: 'INTERRUPTED', error: 'The worker died while the request was out' })
    .where(heldByTheDead(deliveries))
    .returning({ id: deliveries.id })
  await finishWork(
    db,
    interrupted.map((row) => uuidOf(row.id)),
  )
}

async function releaseCampaignBatches(db: Db) {
  await db
    .update(campaignRecipients)
    .set({ status: 'INTERRUPTED', error: 'The worker died while the mail was out', settledAt: sql`now()` })
    .where(heldByTheDead(campaignRecipients))
  const released = await db
    .update(campaignBatches)
    .set({ status: 'PENDING', workerId: null })
    .where(heldByTheDead(campaignBatches))
    .returning({ id: campaignBatches.id })
  await requeueWork(
    db,
    released.map((row) => uuidOf(row.id)),
  )
}

async function releaseMails(db: Db) {
  const released = await db
    .update(mails)
    .set({
      status: sql`case when ${mails.kind} = 'CAMPAIGN_TEST' then 'INTERRUPTED' else 'PENDING' end`,
      error: 'The worker died while the mail was out',
    })
    .where(heldByTheDead(mails))
    .returning({ id: mails.id, status: mails.status })
  const uuidsWhere = (isPending: boolean) =>
    released.filter((mail) => (mail.status === 'PENDING') === isPending).map((mail) => uuidOf(mail.id))
  await requeueWork(db, uuidsWhere(true))
  await finishWork(db, uuidsWhere(false))
}

async function releaseImports(db: Db) {
  const released = await db
    .update(imports)
    .set({ status: 'QUEUED', workerId: null })
    .where(heldByTheDead(imports, 'RUNNING'))
    .returning({ id: imports.id })
  await requeueWork(
    db,
    released.map((row) => uuidOf(row.id)),
  )
}
