import { randomUUID } from 'node:crypto'
import { and, eq, isNull, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { claimBatch, claimRecipients, recordRecipientOutcomes } from '../campaigns/sending.ts'
import { uuidOf } from '../kernel/ids.ts'
import { claimMail, enqueueMail } from '../mail/mails.ts'
import { findPublishableWork, markPublished } from '../jobs/outbox.ts'
import { campaignBatches, mails, outbox, workers } from '../db/schema/index.ts'
import { claimTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { asEnded, getTakenIds, insertDeliveries, recordTestOutcomes } from '@rapport/testing/fixtures/webhook-drain.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  claimTestBacklog,
  countRecipients,
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  readSingleDelivery,
  expireWorkerHeartbeat,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import type { BacklogClaim } from '../webhooks/drain/backlog-claim.ts'
import { recordHeartbeat, deregisterWorker } from '../jobs/worker-registry.ts'
import { recoverOrphanedClaims, releaseOrphanedClaim, findClaims } from './orphaned-claims.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let workerId: string
beforeEach(async () => {
  workerId = await createTestWorker(database.db)
})

const bury = () => recoverOrphanedClaims(database.db)
async function die(id = workerId) {
  await expireWorkerHeartbeat(database.db, id)
  await bury()
}
const deathNote = 'The worker died, or lost the database, while it was out'

/** The worker claims the backlog of a new webhook, which has one delivery. */
async function claimNewDelivery(on = ctx): Promise<{ uuid: string; webhookUuid: string; claim: BacklogClaim }> {
  const { id } = await createTestWebhook(on)
  await createTestContact(on)
  const { uuid } = await readSingleDelivery(on)
  const { claim, take } = await claimTestBacklog(on, id, { workerId })
  expect(getTakenIds(take)).toEqual([uuid])
  return { uuid, webhookUuid: uuidOf(id), claim }
}

const recordSuccess = ({ uuid, claim }: { uuid: string; claim: BacklogClaim }) =>
  recordTestOutcomes(ctx, claim, { ended: asEnded([uuid], { responseStatus: 204 }) })

async function isOut(uuid: string): Promise<boolean> {
  const { rowCount } = await database.pool.query('select from webhook_drains where $1 = any(delivery_ids)', [uuid])
  return rowCount === 1
}

/** A batch of three in the worker's hands, two of them being sent to. */
async function claimNewBatch() {
  const { id: campaignId, batches } = await startTestCampaign(ctx, 3)
  const [uuid = ''] = batches
  const batch = await claimTestBatch(ctx, uuid, workerId)
  const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids.slice(0, 2))
  return { campaignId, uuid, batch, recipients }
}

async function claimNewMail(kind: 'CONFIRMATION' | 'CAMPAIGN_TEST'): Promise<string> {
  await enqueueMail(ctx, { kind, to: 'ada@example.com', data: {} })
  const uuid = (await listPendingWork(ctx, 'mail')).at(-1) ?? ''
  expect(await claimMail(ctx, uuid, workerId)).toBeDefined()
  return uuid
}

async function publishAll() {
  const work = await findPublishableWork(database.db)
  await markPublished(
    database.db,
    work.map(({ job }) => job.id),
  )
}

async function findUnpublished(): Promise<string[]> {
  const rows = await ctx.db
    .select({ id: outbox.id })
    .from(outbox)
    .where(and(eq(outbox.workspaceId, ctx.workspaceId), isNull(outbox.publishedAt)))
  return rows.map((row) => row.id)
}

describe('what a dead worker had in hand', () => {
  test('a delivery is INTERRUPTED, as the request may have arrived, and never attempted again', async () => {
    const { claim } = await claimNewDelivery()
    await die()
    const attempted = { worker_id: workerId, attempted_at: expect.any(String) as string }
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED', error: deathNote, ...attempted })
    expect(await listPendingWork(ctx)).toEqual([])
    const { take } = await claimTestBacklog(ctx, claim.webhookId, { workerId: await createTestWorker(database.db) })
    expect(take).toBeUndefined()
  })

  test('of a backlog only what was out is INTERRUPTED, and the rest waits for the next owner', async () => {
    const { id } = await createTestWebhook(ctx)
    const uuids = await insertDeliveries(ctx, id, { count: 5 })
    const { claim } = await claimTestBacklog(ctx, id, { workerId, limit: 3 })
    await recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 1)), out: uuids.slice(1, 3) })
    await die()
    const { rows } = await database.pool.query<{ status: string }>(
      'select status from deliveries where webhook_id = $1 order by created_at, id',
      [uuidOf(id)],
    )
    expect(rows.map(({ status }) => status)).toEqual(['SUCCEEDED', 'INTERRUPTED', 'INTERRUPTED', 'PENDING', 'PENDING'])
    const next = await claimTestBacklog(ctx, id, { workerId: await createTestWorker(database.db) })
    expect(getTakenIds(next.take)).toEqual(uuids.slice(3))
  })

  test('recipients being sent to are INTERRUPTED; the batch goes back on its queue for the others', async () => {
    const { campaignId, uuid } = await claimNewBatch()
    await publishAll()
    await die()
    expect(await countRecipients(ctx, campaignId)).toEqual({ INTERRUPTED: 2 })
    expect(await findUnpublished()).toEqual([uuid])
    const next = await claimBatch(ctx, uuid, await createTestWorker(database.db))
    if (!next) throw new Error('The batch cannot be claimed')
    const { recipients } = await claimRecipients(ctx, next, next.contactUuids)
    expect(recipients).toHaveLength(1)
  })

  test('a confirmation mail goes back on its queue, a test copy is INTERRUPTED', async () => {
    const confirmation = await claimNewMail('CONFIRMATION')
    const copy = await claimNewMail('CAMPAIGN_TEST')
    await publishAll()
    await die()
    expect(await findUnpublished()).toEqual([confirmation])
    expect(await listPendingWork(ctx)).toEqual([confirmation])
    const rows = await ctx.db
      .select()
      .from(mails)
      .where(eq(mails.workspaceId, ctx.workspaceId))
      .orderBy(mails.createdAt)
    expect(rows.map((mail) => [uuidOf(mail.id), mail.status])).toEqual([
      [confirmation, 'PENDING'],
      [copy, 'INTERRUPTED'],
    ])
  })

  test('nothing is touched while the worker lives, though others die', async () => {
    const { campaignId, uuid } = await claimNewBatch()
    await claimNewMail('CONFIRMATION')
    const { uuid: out } = await claimNewDelivery()
    await publishAll()
    await database.db.execute(sql`update workers set seen_at = now() - interval '14 seconds' where id = ${workerId}`)
    await die(await createTestWorker(database.db))
    expect(await findUnpublished()).toEqual([])
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENDING: 2 })
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'PENDING' })
    expect(await isOut(out)).toBe(true)
    expect(await findClaims(database.db, workerId)).toContain(uuid)
  })

  test('what is finished stays as it was', async () => {
    await recordSuccess(await claimNewDelivery())
    const { campaignId, batch, recipients } = await claimNewBatch()
    const outcomes = recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null }))
    await recordRecipientOutcomes(ctx, batch, outcomes)
    await die()
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED', error: null })
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENT: 2 })
  })

  test('a claim by a worker that was struck off already is INTERRUPTED too', async () => {
    await die()
    const { uuid } = await claimNewDelivery()
    await bury()
    expect(await readSingleDelivery(ctx)).toMatchObject({ uuid, status: 'INTERRUPTED' })
  })

  test('a worker that takes its leave with something in hand leaves it INTERRUPTED at once', async () => {
    await claimNewDelivery()
    await deregisterWorker(database.db, workerId)
    await recoverOrphanedClaims(database.db)
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED' })
    expect(await database.db.select().from(workers).where(eq(workers.id, workerId))).toEqual([])
  })
})

describe('who was taken for dead and lives', () => {
  test('comes back by the next beat, and its next claims are left alone', async () => {
    await die()
    await recordHeartbeat(database.db, workerId)
    const { uuid } = await claimNewDelivery()
    await bury()
    expect([(await readSingleDelivery(ctx)).status, await isOut(uuid)]).toEqual(['PENDING', true])
  })

  test('corrects by its late truth what was INTERRUPTED', async () => {
    const delivery = await claimNewDelivery()
    const { campaignId, batch, recipients } = await claimNewBatch()
    await die()
    expect(await recordSuccess(delivery)).toBeUndefined()
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED', error: null, response_status: 204 })
    const outcomes = recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null }))
    await recordRecipientOutcomes(ctx, batch, outcomes)
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENT: 2 })
  })

  test('can claim nobody more of a batch that was taken from it', async () => {
    const { batch } = await claimNewBatch()
    await die()
    expect(await claimRecipients(ctx, batch, batch.contactUuids)).toEqual({ stopped: true, recipients: [] })
  })
})

describe('burying', () => {
  test('two at once set everything right once, and neither waits for the other', async () => {
    await claimNewDelivery()
    const { uuid } = await claimNewBatch()
    await publishAll()
    await expireWorkerHeartbeat(database.db, workerId)
    await Promise.all(Array.from({ length: 8 }, bury))
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED' })
    expect(await findUnpublished()).toEqual([uuid])
  })

  test('while another buries, nothing is done twice and nobody waits', async () => {
    const holding = await openTransaction(database.db, (db) => db.execute(sql`select pg_advisory_xact_lock(7277679)`))
    await claimNewDelivery()
    await die()
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'PENDING' })
    await holding.commit()
    await bury()
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED' })
  })

  test('a late outcome and a burial at the same moment do not lock each other out', async () => {
    const other = await createTestCtx(database.db)
    const first = await claimNewDelivery(other)
    const delivery = await claimNewDelivery()
    await expireWorkerHeartbeat(database.db, workerId)
    // Recovery stops half-way, at the first drain. It locks them in the order of their keys.
    const half = await openTransaction(database.db, (db) =>
      db.execute(sql`select from deliveries where id = ${first.uuid} or id = ${delivery.uuid} for update`),
    )
    const recovering = bury()
    await waitUntilBlocked(database.db)
    const recording = recordSuccess(delivery)
    await waitUntilBlocked(database.db, 2)
    await Promise.all([half.commit(), recovering, recording])
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
    expect(await readSingleDelivery(other)).toMatchObject({ status: 'INTERRUPTED' })
  })
})

describe('a claim that a living worker has in hand no more', () => {
  test('is found by its subject, of every kind', async () => {
    const expected = [
      (await claimNewDelivery()).webhookUuid,
      (await claimNewBatch()).uuid,
      await claimNewMail('CONFIRMATION'),
      await claimNewMail('CAMPAIGN_TEST'),
    ]
    expect((await findClaims(database.db, workerId)).toSorted()).toEqual(expected.toSorted())
    expect(await findClaims(database.db, randomUUID())).toEqual([])
  })

  test('is set right as by a death, and others of the worker are not', async () => {
    const { webhookUuid } = await claimNewDelivery()
    const { uuid: batchUuid, campaignId } = await claimNewBatch()
    const mailUuid = await claimNewMail('CONFIRMATION')
    await publishAll()
    await releaseOrphanedClaim(database.db, workerId, webhookUuid)
    expect(await readSingleDelivery(ctx)).toMatchObject({
      status: 'INTERRUPTED',
      error: 'How it ended could not be recorded',
    })
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENDING: 2 })
    await releaseOrphanedClaim(database.db, workerId, batchUuid)
    expect(await countRecipients(ctx, campaignId)).toEqual({ INTERRUPTED: 2 })
    expect(await findUnpublished()).toEqual([batchUuid])
    await releaseOrphanedClaim(database.db, workerId, mailUuid)
    expect((await findUnpublished()).toSorted()).toEqual([batchUuid, mailUuid].toSorted())
    expect(await findClaims(database.db, workerId)).toEqual([])
  })

  test('recipients are found and set right also when their batch is in other hands by now', async () => {
    const { uuid, campaignId } = await claimNewBatch()
    await ctx.db
      .update(campaignBatches)
      .set({ workerId: randomUUID() })
      .where(eq(campaignBatches.workspaceId, ctx.workspaceId))
    expect(await findClaims(database.db, workerId)).toEqual([uuid])
    await releaseOrphanedClaim(database.db, workerId, uuid)
    expect(await countRecipients(ctx, campaignId)).toEqual({ INTERRUPTED: 2 })
    const [batch] = await ctx.db.select().from(campaignBatches).where(eq(campaignBatches.campaignId, campaignId))
    expect(batch?.status).toBe('SENDING')
  })
})
