import { randomUUID } from 'node:crypto'
import { and, eq, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { claimBatch, claimRecipients, recordOutcomes } from '../campaigns/sending.ts'
import { uuidOf } from '../kernel/ids.ts'
import { claimMail, enqueueMail } from '../mail/mails.ts'
import { relayLanes, relayWork } from '../jobs/outbox.ts'
import { campaignBatches, mails, outbox, workers } from '../db/schema/index.ts'
import { claimTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  claimDelivery,
  countRecipients,
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  readOnlyDelivery,
  settleDelivery,
  silenceWorker,
  waitingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { recordHeartbeat, deregisterWorker } from '../jobs/worker-registry.ts'
import { recoverOrphanedClaims, dropClaim, findClaims } from './dead-worker-recovery.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let workerId: string
beforeEach(async () => {
  workerId = await createTestWorker(database.db)
})

const bury = () => recoverOrphanedClaims(database.db)
async function die(id = workerId) {
  await silenceWorker(database.db, id)
  await bury()
}
const succeeded = { status: 'SUCCEEDED', durationMs: 5, responseStatus: 204, responseBody: '', error: null } as const
const deathNote = 'The worker died, or lost the database, while it was out'

async function claimNewDelivery(): Promise<string> {
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  const { uuid } = await readOnlyDelivery(ctx)
  expect(await claimDelivery(ctx, uuid, workerId)).toBeDefined()
  return uuid
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
  const uuid = (await waitingWork(ctx, 'mail')).at(-1) ?? ''
  expect(await claimMail(ctx, uuid, workerId)).toBeDefined()
  return uuid
}

async function handOverAll() {
  await relayWork(database.db, 'one', async () => {})
  await relayLanes(database.db, { epoch: 'one' }, async () => {})
}

async function notHandedOver(): Promise<string[]> {
  const rows = await ctx.db
    .select({ id: outbox.id })
    .from(outbox)
    .where(and(eq(outbox.workspaceId, ctx.workspaceId), sql`${outbox.relayedEpoch} is null`))
  return rows.map((row) => row.id)
}

describe('what a dead worker had in hand', () => {
  test('a delivery is INTERRUPTED, as the request may have arrived, and never attempted again', async () => {
    const uuid = await claimNewDelivery()
    await die()
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED', error: deathNote })
    expect(await waitingWork(ctx)).toEqual([])
    expect(await claimDelivery(ctx, uuid, await createTestWorker(database.db))).toBeUndefined()
  })

  test('recipients being sent to are INTERRUPTED; the batch goes back on its queue for the others', async () => {
    const { campaignId, uuid } = await claimNewBatch()
    await handOverAll()
    await die()
    expect(await countRecipients(ctx, campaignId)).toEqual({ INTERRUPTED: 2 })
    expect(await notHandedOver()).toEqual([uuid])
    const next = await claimBatch(ctx, uuid, await createTestWorker(database.db))
    if (!next) throw new Error('The batch cannot be claimed')
    const { recipients } = await claimRecipients(ctx, next, next.contactUuids)
    expect(recipients).toHaveLength(1)
  })

  test('a confirmation mail goes back on its queue, a test copy is INTERRUPTED', async () => {
    const confirmation = await claimNewMail('CONFIRMATION')
    const copy = await claimNewMail('CAMPAIGN_TEST')
    await handOverAll()
    await die()
    expect(await notHandedOver()).toEqual([confirmation])
    expect(await waitingWork(ctx)).toEqual([confirmation])
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
    await claimNewDelivery()
    await handOverAll()
    await database.db.execute(sql`update workers set seen_at = now() - interval '14 seconds' where id = ${workerId}`)
    await die(await createTestWorker(database.db))
    expect(await notHandedOver()).toEqual([])
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENDING: 2 })
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SENDING' })
    expect(await findClaims(database.db, workerId)).toContain(uuid)
  })

  test('what is finished stays as it was', async () => {
    const uuid = await claimNewDelivery()
    await settleDelivery(ctx, { uuid, workerId }, succeeded)
    const { campaignId, batch, recipients } = await claimNewBatch()
    const outcomes = recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null }))
    await recordOutcomes(ctx, batch, outcomes)
    await die()
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED', error: null })
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENT: 2 })
  })

  test('a claim by a worker that was struck off already is INTERRUPTED too', async () => {
    await die()
    const uuid = await claimNewDelivery()
    await bury()
    expect(await readOnlyDelivery(ctx)).toMatchObject({ uuid, status: 'INTERRUPTED' })
  })

  test('a worker that takes its leave with something in hand leaves it INTERRUPTED at once', async () => {
    await claimNewDelivery()
    await deregisterWorker(database.db, workerId)
    await recoverOrphanedClaims(database.db)
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED' })
    expect(await database.db.select().from(workers).where(eq(workers.id, workerId))).toEqual([])
  })
})

describe('who was taken for dead and lives', () => {
  test('comes back by the next beat, and its next claims are left alone', async () => {
    await die()
    await recordHeartbeat(database.db, workerId)
    await claimNewDelivery()
    await bury()
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SENDING' })
  })

  test('corrects by its late truth what was INTERRUPTED', async () => {
    const uuid = await claimNewDelivery()
    const { campaignId, batch, recipients } = await claimNewBatch()
    await die()
    await settleDelivery(ctx, { uuid, workerId }, succeeded)
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED', error: null, response_status: 204 })
    const outcomes = recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null }))
    await recordOutcomes(ctx, batch, outcomes)
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
    await handOverAll()
    await silenceWorker(database.db, workerId)
    await Promise.all(Array.from({ length: 8 }, bury))
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED' })
    expect(await notHandedOver()).toEqual([uuid])
  })

  test('while another buries, nothing is done twice and nobody waits', async () => {
    const holding = await openTransaction(database.db, (db) => db.execute(sql`select pg_advisory_xact_lock(7277679)`))
    await claimNewDelivery()
    await die()
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SENDING' })
    await holding.commit()
    await bury()
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED' })
  })

  test('a late outcome and a burial at the same moment do not lock each other out', async () => {
    const other = await createTestCtx(database.db)
    await createTestWebhook(other)
    await createTestContact(other)
    const first = (await readOnlyDelivery(other)).uuid
    await claimDelivery(other, first, workerId)
    const uuid = await claimNewDelivery()
    await silenceWorker(database.db, workerId)
    // The burial stops half-way: it has both deliveries, and waits for the work of the first.
    const half = await openTransaction(database.db, (db) =>
      db.execute(sql`select from outbox where id = ${first} for update`),
    )
    const burying = bury()
    await waitUntilBlocked(database.db)
    const settling = settleDelivery(ctx, { uuid, workerId }, succeeded)
    await waitUntilBlocked(database.db, 2)
    await Promise.all([half.commit(), burying, settling])
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
  })
})

describe('a claim that a living worker has in hand no more', () => {
  test('is found by its subject, of every kind', async () => {
    const expected = [
      await claimNewDelivery(),
      (await claimNewBatch()).uuid,
      await claimNewMail('CONFIRMATION'),
      await claimNewMail('CAMPAIGN_TEST'),
    ]
    expect((await findClaims(database.db, workerId)).toSorted()).toEqual(expected.toSorted())
    expect(await findClaims(database.db, randomUUID())).toEqual([])
  })

  test('is set right as by a death, and others of the worker are not', async () => {
    const uuid = await claimNewDelivery()
    const { uuid: batchUuid, campaignId } = await claimNewBatch()
    const mailUuid = await claimNewMail('CONFIRMATION')
    await handOverAll()
    await dropClaim(database.db, workerId, uuid)
    expect(await readOnlyDelivery(ctx)).toMatchObject({
      status: 'INTERRUPTED',
      error: 'How it ended could not be recorded',
    })
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENDING: 2 })
    await dropClaim(database.db, workerId, batchUuid)
    expect(await countRecipients(ctx, campaignId)).toEqual({ INTERRUPTED: 2 })
    expect(await notHandedOver()).toEqual([batchUuid])
    await dropClaim(database.db, workerId, mailUuid)
    expect((await notHandedOver()).toSorted()).toEqual([batchUuid, mailUuid].toSorted())
    expect(await findClaims(database.db, workerId)).toEqual([])
  })

  test('recipients are found and set right also when their batch is in other hands by now', async () => {
    const { uuid, campaignId } = await claimNewBatch()
    await ctx.db
      .update(campaignBatches)
      .set({ workerId: randomUUID() })
      .where(eq(campaignBatches.workspaceId, ctx.workspaceId))
    expect(await findClaims(database.db, workerId)).toEqual([uuid])
    await dropClaim(database.db, workerId, uuid)
    expect(await countRecipients(ctx, campaignId)).toEqual({ INTERRUPTED: 2 })
    const [batch] = await ctx.db.select().from(campaignBatches).where(eq(campaignBatches.campaignId, campaignId))
    expect(batch?.status).toBe('SENDING')
  })
})
