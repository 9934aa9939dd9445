/**
 * A restored backup contains work that was done after the backup: campaigns that were sent and deliveries that were
 * made. The database cannot tell which. Work that must not be repeated is interrupted here before a worker claims it.
 */
import { and, eq, getTableName, inArray, lt, sql } from 'drizzle-orm'
import { updateRecipientCounters } from '../../campaigns/recipient-counters.ts'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { arrayOf, int, timestamptz, uuid } from '../../db/statements/sql-types.ts'
import { timeAtLeast } from '../../db/schema/columns.ts'
import { campaigns, emails, mails, visitorMails } from '../../db/schema/index.ts'
import { readDatabaseClock } from '../../db/database-facts.ts'
import { conflict } from '../../kernel/errors.ts'
import { idOf, type MailId, uuidOf } from '../../kernel/ids.ts'
import { interruptEmail } from '../../emails/record-emails.ts'
import { endVisitorMails } from '../../mail/budget/visitor-mails.ts'
import { finishUnclaimedWork, type WorkScope } from '../../work/enqueue.ts'
import { changeByWorkspace } from '../../work/publish.ts'
import { transaction } from '../../db/transaction.ts'
import { listWorkers } from '../../work/worker-registry.ts'
import { recoverOrphanedClaims } from './recover-claims.ts'
import { timestampNow, type Timestamp, timestampAt } from '../../kernel/values/timestamps.ts'

export interface InterruptedWorkCounts {
  deliveries: number
  mails: number
  /** Campaigns that were SENDING or PAUSED and are PAUSED now. Their pending recipients became INTERRUPTED. */
  campaigns: number
  recipients: number
}

const reason = 'It was pending in the restored backup and may have been sent since'

/**
 * Marks pending deliveries, mails and campaign recipients from before the time `before` (default: now) as INTERRUPTED:
 * they are shown, but not sent. Campaigns that were being sent become PAUSED. A user can retry the interrupted
 * recipients before resuming such a campaign; without a retry, resuming completes it. Imports and other work that only
 * changes the database continues. Throws `wrong_state` while a worker is alive. Runs in small transactions, so that it
 * can be stopped and run again.
 */
export async function interruptRestoredWork(db: Db, before: Timestamp | undefined): Promise<InterruptedWorkCounts> {
  if ((await listWorkers(db)).some(({ isAlive }) => isAlive)) {
    throw conflict(
      'wrong_state',
      'A worker is alive or was alive in the last 15 seconds: stop all workers, wait 15 seconds and run this again',
    )
  }
  const { errors } = await recoverOrphanedClaims(db)
  // A claim that is left would be recovered by a worker, which sends what is safe to repeat.
  if (errors.length > 0) throw errors[0]
  const cutoff = before ?? timestampAt(Math.ceil(await readDatabaseClock(db)))
  return {
    campaigns: await pauseCampaigns(db, cutoff),
    recipients: await interruptRecipients(db, cutoff),
    deliveries: await repeatUntilNone(() => interruptDeliveries(db, cutoff)),
    mails:
      (await repeatUntilNone(() => interruptSingle(db, cutoff, singleMails))) +
      (await repeatUntilNone(() => interruptVisitorMails(db, cutoff))) +
      (await repeatUntilNone(() => interruptSingle(db, cutoff, templateEmails))),
  }
}

const rowsPerTransaction = 500
const batchesPerStatement = 25

async function repeatUntilNone(interruptSome: () => Promise<number>): Promise<number> {
  let total = 0
  for (let count = -1; count !== 0; total += count) count = await interruptSome()
  return total
}

/** Prevents a worker that starts too early from claiming recipients. */
async function pauseCampaigns(db: Db, before: Timestamp): Promise<number> {
  const { rowCount } = await db
    .update(campaigns)
    .set({ status: 'PAUSED', pauseReason: reason, updatedAt: timeAtLeast(campaigns.updatedAt, timestampNow()) })
    .where(and(inArray(campaigns.status, ['SENDING', 'PAUSED']), lt(campaigns.sentAt, before)))
  return rowCount ?? 0
}

/** The batches stay open without recipients to claim, so that the campaign ends like any other when it is resumed. */
async function interruptRecipients(db: Db, before: Timestamp): Promise<number> {
  const open = await findOpenBatches(db, { before })
  let total = 0
  for (const [workspaceId, batches] of Map.groupBy(open, ({ workspaceId }) => workspaceId)) {
    for (let start = 0; start < batches.length; start += batchesPerStatement) {
      const ids = batches.slice(start, start + batchesPerStatement).map(({ id }) => id)
      const [interrupted] = await interruptBatches(db, { workspaceId, ids, now: timestampNow() })
      total += interrupted?.count ?? 0
    }
  }
  return total
}

const findOpenBatches = namedStatement('find open batches of paused campaigns', {
  params: { before: timestamptz },
  columns: { workspaceId: uuid, id: uuid },
  sql: ({ before }) => sql`
    select b.workspace_id, b.id from campaigns c
    join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
    where c.status = 'PAUSED' and c.sent_at < ${before} and b.status <> 'DONE' order by b.id`,
})

const interruptBatches = namedStatement('interrupt batches', {
  params: { workspaceId: uuid, ids: arrayOf(uuid), now: timestamptz },
  columns: { count: int },
  sql: ({ workspaceId, ids, now }) => sql`
    with interrupted as (
      insert into campaign_recipients as r (workspace_id, campaign_id, contact_id, batch_id, status, error, ended_at)
      select b.workspace_id, b.campaign_id, recipient.id, b.id, 'INTERRUPTED', ${reason}, ${now}
      from campaigns c
      join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
      cross join lateral unnest(b.contact_ids) as recipient (id)
      where c.workspace_id = ${workspaceId} and c.status = 'PAUSED' and b.id = any(${ids})
        and b.status <> 'DONE'
      on conflict (workspace_id, campaign_id, contact_id) do update
      set status = excluded.status, error = excluded.error, ended_at = excluded.ended_at
      where r.status = 'WAITING'
      returning batch_id, null as was, status as became),
    ${updateRecipientCounters('interrupted', workspaceId)}
    select count(*)::int as count from interrupted`,
})

/** No delivery is in flight: the claims of the backup's workers have been recovered. */
async function interruptDeliveries(db: Db, before: Timestamp): Promise<number> {
  const waiting = await findPendingDeliveries(db, { before })
  return interruptPending(db, {
    workspaceIds: waiting.map(({ workspaceId }) => workspaceId),
    webhookIds: waiting.map(({ webhookId }) => webhookId),
    ids: waiting.map(({ id }) => id),
  })
}

const findPendingDeliveries = namedStatement('find pending deliveries of a backup', {
  params: { before: timestamptz },
  columns: { workspaceId: uuid, webhookId: uuid, id: uuid },
  sql: ({ before }) => sql`
    select workspace_id, webhook_id, id from deliveries
    where status = 'PENDING' and created_at < ${before} limit ${rowsPerTransaction}`,
})

const interruptPending = namedStatement('interrupt pending deliveries', {
  params: { workspaceIds: arrayOf(uuid), webhookIds: arrayOf(uuid), ids: arrayOf(uuid) },
  sql: ({ workspaceIds, webhookIds, ids }) => sql`
    update deliveries d set status = 'INTERRUPTED', error = ${reason}
    from unnest(${workspaceIds}, ${webhookIds}, ${ids}) as waiting (workspace_id, webhook_id, id)
    where d.workspace_id = waiting.workspace_id and d.webhook_id = waiting.webhook_id and d.id = waiting.id
      and d.status = 'PENDING'`,
})

type SingleMails = typeof mails | typeof emails

const findPending = (table: SingleMails) =>
  namedStatement(`find pending ${getTableName(table)} of a backup`, {
    params: { before: timestamptz },
    columns: { workspaceId: table.workspaceId, id: uuid },
    sql: ({ before }) => sql`
      select m.workspace_id, m.id from work w
      join ${table} m on m.workspace_id = w.workspace_id and m.id = w.id
      where w.created_at < ${before} and m.status = 'PENDING' and w.token is null
      order by m.id limit ${rowsPerTransaction}`,
  })

interface Single {
  table: SingleMails
  find: ReturnType<typeof findPending>
  /** Records the outcome of locked mails, whose work has ended. */
  interrupt: (scope: WorkScope, ids: MailId[]) => Promise<unknown>
}

const singleMails: Single = {
  table: mails,
  find: findPending(mails),
  interrupt: async ({ db, workspaceId }, ids) =>
    await db
      .update(mails)
      .set({ status: 'INTERRUPTED', error: reason, endedAt: timestampNow() })
      .where(and(eq(mails.workspaceId, workspaceId), inArray(mails.id, ids))),
}

const templateEmails: Single = {
  table: emails,
  find: findPending(emails),
  async interrupt({ db, workspaceId }, ids) {
    const isLocked = and(eq(emails.workspaceId, workspaceId), inArray(emails.id, ids))
    for (const email of await db.select().from(emails).where(isLocked))
      await interruptEmail({ db, workspaceId, requestId: email.id }, email, reason)
  },
}

async function interruptSingle(db: Db, before: Timestamp, { table, find, interrupt }: Single): Promise<number> {
  const work = await find(db, { before })
  let interrupted = 0
  await changeByWorkspace(db, work, async ({ db, workspaceId }, uuids) => {
    await transaction(db, async (db) => {
      const isNamed = and(eq(table.workspaceId, workspaceId), inArray(table.id, uuids.map(toMailId)))
      const locked = await db
        .select({ id: table.id })
        .from(table)
        .where(and(isNamed, eq(table.status, 'PENDING')))
        .orderBy(table.id)
        .for('update')
      const unclaimed = await finishUnclaimedWork(
        { db, workspaceId },
        locked.map(({ id }) => uuidOf(id)),
      )
      await interrupt({ db, workspaceId }, unclaimed.map(toMailId))
      interrupted += unclaimed.length
    })
  })
  return interrupted
}

const toMailId = (uuid: string) => idOf('mai', uuid)

/** Mails that wait for a budget have no work. */
async function interruptVisitorMails(db: Db, before: Timestamp): Promise<number> {
  const waiting = await findWaitingMails(db, { before })
  const outcome = { status: 'INTERRUPTED', error: reason } as const
  for (const [workspaceId, rows] of Map.groupBy(waiting, (row) => row.workspaceId)) {
    await transaction(db, (db) => endVisitorMails({ db, workspaceId }, rows, { status: 'GIVEN_UP', outcome }))
  }
  return waiting.length
}

const findWaitingMails = namedStatement('find waiting mails of a backup', {
  params: { before: timestamptz },
  columns: { workspaceId: visitorMails.workspaceId, id: visitorMails.id },
  sql: ({ before }) => sql`
    select workspace_id, id from visitor_mails
    where status in ('WAITING', 'WITHHELD') and created_at < ${before} limit ${rowsPerTransaction}`,
})
