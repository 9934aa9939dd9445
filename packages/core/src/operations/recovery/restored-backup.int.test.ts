import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { sendTestMail } from '../../campaigns/campaign-mail.ts'
import { readStats } from '../../campaigns/campaign-stats.ts'
import { readCampaign } from '../../campaigns/campaigns.ts'
import { cancelCampaign, pauseCampaign, resumeCampaign, retryCampaign } from '../../campaigns/lifecycle.ts'
import { claimRecipients, finishBatch, recordRecipientOutcomes, skipRecipients } from '../../campaigns/sending.ts'
import { readEmail } from '../../emails/emails.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { expireHeartbeats, recordHeartbeat } from '../../work/worker-registry.ts'
import { interruptRestoredWork } from './restored-backup.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  countRecipients,
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestList,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
  listEventTypes,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { openImpatient, openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { askVisitors } from '@rapport/testing/consent/visitor-mails.ts'
import { claimTestMail } from '@rapport/testing/fixtures/claims.ts'
import { claimTestDrain } from '@rapport/testing/fixtures/webhook-drain.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type Timestamp, timestampAt } from '../../kernel/values/timestamps.ts'
import { releaseVisitorMails } from '../../mail/budget/release-visitor-mails.ts'
import { setQuotas } from '../../workspaces/set-quotas.ts'

const database = useTestDatabase()
let ctx: Ctx
let workerId: string
beforeEach(async () => {
  await database.pool.query('truncate workspaces, workers cascade')
  ctx = await createTestCtx(database.db)
  workerId = await createTestWorker(database.db)
})

/** Simulates a restore, where the worker of the backup no longer runs. */
async function restore(before?: Timestamp, { db } = ctx) {
  await expireWorkerHeartbeat(ctx.db, workerId)
  return interruptRestoredWork(db, before)
}

const statusesOf = async (table: 'deliveries' | 'mails') =>
  (await database.pool.query<{ status: string }>(`select status from ${table} order by id`)).rows.map(
    (row) => row.status,
  )

const claim = (uuid?: string) => claimTestBatch(ctx, uuid, workerId)

/** Sends every waiting batch as a worker does. Returns the number of mails. */
async function sendWaitingBatches(): Promise<number> {
  workerId = await createTestWorker(database.db)
  let mailed = 0
  for (const uuid of await listPendingWork(ctx, 'campaigns')) {
    const batch = await claim(uuid)
    mailed += (await sendTestBatch(ctx, batch)).recipients.length
    await finishBatch(ctx, batch)
  }
  return mailed
}

test('interrupts pending and claimed deliveries and mails of a backup', async () => {
  await createTestWebhook(ctx)
  for (let count = 0; count < 3; count += 1) await createTestContact(ctx)
  const campaign = await createTestCampaign(ctx)
  for (const email of ['a@example.com', 'b@example.com']) await sendTestMail(ctx, campaign.id, { email })
  const mails = await listPendingWork(ctx, 'mail')
  await claimTestDrain(ctx, { workerId, limit: 1 })
  await claimTestMail(ctx, mails[0] ?? '', workerId)

  // The counts exclude the claimed delivery and mail, which the recovery interrupts.
  expect(await restore()).toMatchObject({ deliveries: 2, mails: 1 })
  expect(await statusesOf('deliveries')).toEqual(['INTERRUPTED', 'INTERRUPTED', 'INTERRUPTED'])
  expect(await statusesOf('mails')).toEqual(['INTERRUPTED', 'INTERRUPTED'])
  expect(await listPendingWork(ctx)).toEqual([])
  workerId = await createTestWorker(database.db)
  expect((await claimTestDrain(ctx, { workerId })).take).toBeUndefined()
  for (const uuid of mails) expect(await claimTestMail(ctx, uuid, workerId)).toBeUndefined()
})

test('interrupts the emails that wait in a backup, and deletes their values', async () => {
  const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
  expect(await restore()).toMatchObject({ mails: 1 })
  expect(await readEmail(ctx, id)).toMatchObject({ status: 'INTERRUPTED', reason: expect.stringMatching(/backup/) })
  expect((await database.pool.query('select sealed_data from emails')).rows).toEqual([{ sealed_data: null }])
  expect(await listPendingWork(ctx)).toEqual([])
  expect(await listEventTypes(ctx)).toContain('email.interrupted')
})

test('gives up the mails of a backup that wait for a budget, or were released by it', async () => {
  await setQuotas(ctx, { confirmations: 2 })
  const list = await createTestList(ctx)
  await askVisitors(ctx, list.id, { count: 4 })
  await releaseVisitorMails(ctx)
  await askVisitors(ctx, list.id, { count: 1, name: 'unread' })
  await claimTestMail(ctx, (await listPendingWork(ctx, 'mail'))[0] ?? '', workerId)
  // The claimed one may have been sent: the recovery makes it wait again.
  expect(await restore()).toMatchObject({ mails: 5 })
  expect(await statusesOf('mails')).toEqual(Array.from({ length: 5 }, () => 'INTERRUPTED'))
  await setQuotas(ctx, { confirmations: 0 })
  expect(await releaseVisitorMails(ctx)).toMatchObject({ released: 0 })
  expect(await listPendingWork(ctx)).toEqual([])
})

test('gives up all mails that wait for a budget after a failure halfway', async () => {
  await setQuotas(ctx, { confirmations: 1 })
  await askVisitors(ctx, (await createTestList(ctx)).id, { count: 2 })
  await database.pool.query(`alter table mails add constraint failure check (status <> 'INTERRUPTED') not valid`)
  await expect(restore()).rejects.toMatchObject({ cause: { message: expect.stringContaining('"failure') as string } })
  await database.pool.query('alter table mails drop constraint failure')
  expect(await restore()).toMatchObject({ mails: 2 })
  expect(await statusesOf('mails')).toEqual(['INTERRUPTED', 'INTERRUPTED'])
})

test('leaves the work of a mail that a worker claims meanwhile', async () => {
  const campaign = await createTestCampaign(ctx)
  await sendTestMail(ctx, campaign.id, { email: 'a@example.com' })
  const [uuid = ''] = await listPendingWork(ctx, 'mail')
  const claiming = await openTransaction(database.db, (db) => claimTestMail({ ...ctx, db }, uuid, workerId))
  const restoring = restore()
  await waitUntilBlocked(database.db)
  await claiming.commit()
  expect(await restoring).toMatchObject({ mails: 0 })
  expect(await statusesOf('mails')).toEqual(['PENDING'])
  expect(await listPendingWork(ctx, 'mail')).toEqual([uuid])
})

test('fails if a claim of the backup cannot be recovered', async () => {
  await sendTestMail(ctx, (await createTestCampaign(ctx)).id, { email: 'a@example.com' })
  const [uuid = ''] = await listPendingWork(ctx, 'mail')
  await claimTestMail(ctx, uuid, workerId)
  const frozen = await openTransaction(database.db, (db) =>
    db.execute(sql`select from work where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuid} for update`),
  )
  await expect(restore(undefined, { ...ctx, db: openImpatient(database) })).rejects.toThrow('Failed query')
  await frozen.commit()
  expect(await restore()).toMatchObject({ mails: 0 })
  expect(await statusesOf('mails')).toEqual(['INTERRUPTED'])
})

test('sends no second mail of a restored campaign, which ends when resumed', async () => {
  const { id } = await startTestCampaign(ctx, 450)
  const batch = await claim((await listPendingWork(ctx, 'campaigns'))[0])
  const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids.slice(0, 30))
  const outcomes = recipients.map(({ id }, at) => ({
    contactId: id,
    status: at < 10 ? ('SENT' as const) : ('WAITING' as const),
    error: null,
  }))
  // Ten are sent, ten wait for a retry, ten are being sent, and 420 are not claimed yet.
  await recordRecipientOutcomes(ctx, batch, outcomes.slice(0, 20))

  expect(await restore()).toMatchObject({ campaigns: 1, recipients: 430 })
  expect(await readCampaign(ctx, id)).toMatchObject({
    status: 'PAUSED',
    pauseReason: expect.stringContaining('backup') as string,
  })
  expect(await readStats(ctx, id)).toMatchObject({ queued: 450, sent: 10, interrupted: 440, pending: 0 })
  expect(await countRecipients(ctx, id)).toEqual({ SENT: 10, INTERRUPTED: 440 })
  await resumeCampaign(ctx, id)
  expect(await sendWaitingBatches()).toBe(0)
  expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', pauseReason: null })
})

test('sends to interrupted recipients after a retry', async () => {
  const { id } = await startTestCampaign(ctx, 250)
  await pauseCampaign(ctx, id)
  expect(await restore()).toMatchObject({ campaigns: 1, recipients: 250 })
  expect(await retryCampaign(ctx, id, { includeInterrupted: true })).toEqual({ queued: 250 })
  await resumeCampaign(ctx, id)
  expect(await sendWaitingBatches()).toBe(250)
  expect(await readStats(ctx, id)).toMatchObject({ sent: 250, interrupted: 0 })
})

test('is idempotent and ignores finished, canceled and newer work', async () => {
  const { id: canceled } = await startTestCampaign(ctx, 5)
  await cancelCampaign(ctx, canceled)
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  expect(await restore()).toEqual({ campaigns: 0, recipients: 0, deliveries: 1, mails: 0 })
  expect(await restore()).toEqual({ campaigns: 0, recipients: 0, deliveries: 0, mails: 0 })
  await createTestContact(ctx)
  expect(await restore(timestampAt(Date.now() - 60_000))).toEqual({
    campaigns: 0,
    recipients: 0,
    deliveries: 0,
    mails: 0,
  })
  expect(await statusesOf('deliveries')).toEqual(['INTERRUPTED', 'PENDING'])

  workerId = await createTestWorker(database.db)
  const batch = await claim((await listPendingWork(ctx, 'campaigns'))[0])
  await skipRecipients(ctx, batch)
  expect(await readStats(ctx, canceled)).toMatchObject({ skipped: 5 })
})

test('interrupts more deliveries than fit into one transaction', async () => {
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  await database.db.execute(sql`
    insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
    select workspace_id, uuidv7(), webhook_id, event_id, event_type from deliveries, generate_series(1, 1200)`)
  expect(await restore()).toMatchObject({ deliveries: 1_201 })
  expect(await listPendingWork(ctx)).toEqual([])
})

test('changes nothing while a worker is alive', async () => {
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  await expect(interruptRestoredWork(ctx.db, undefined)).rejects.toThrow('A worker is alive')
  expect(await statusesOf('deliveries')).toEqual(['PENDING'])
})

test('does not count workers that were alive when the backup was made', async () => {
  await recordHeartbeat(database.db, randomUUID())
  await expireHeartbeats(database.db)
  const noWork = { campaigns: 0, recipients: 0, deliveries: 0, mails: 0 }
  expect(await interruptRestoredWork(ctx.db, undefined)).toEqual(noWork)
})
