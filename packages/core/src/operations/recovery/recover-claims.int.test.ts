import { randomUUID } from 'node:crypto'
import { and, eq, isNull, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { claimRecipients, recordRecipientOutcomes } from '../../campaigns/sending.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { enqueueMail } from '../../mail/mails.ts'
import { mails, work, workers } from '../../db/schema/index.ts'
import { claimTestMail, findClaims } from '@rapport/testing/fixtures/claims.ts'
import { claimTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  asEnded,
  claimTestDrain,
  getTakenIds,
  insertDeliveries,
  recordTestOutcomes,
} from '@rapport/testing/fixtures/webhook-drain.ts'
import { readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { openImpatient, openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
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
import type { DrainClaim } from '../../webhooks/drain/drain-claim.ts'
import { drainId } from '../../work/queues.ts'
import { recordHeartbeat, deregisterWorker } from '../../work/worker-registry.ts'
import { recoverOrphanedClaims, recoverOwnClaims } from './recover-claims.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let workerId: string
beforeEach(async () => {
  workerId = await createTestWorker(database.db)
})

const recover = (timeoutMs?: number) => recoverOrphanedClaims(database.db, timeoutMs)
async function crashWorker(id = workerId) {
  await expireWorkerHeartbeat(database.db, id)
  await recover()
}
const crashError = 'The worker crashed or lost the database connection during the attempt'

/** Creates a webhook with one delivery, and claims the drain of the workspace for the worker. */
async function claimNewDelivery(on = ctx): Promise<{ uuid: string; claim: DrainClaim }> {
  await createTestWebhook(on)
  await createTestContact(on)
  const { uuid } = await readSingleDelivery(on)
  const { claim, take } = await claimTestDrain(on, { workerId })
  expect(getTakenIds(take)).toEqual([uuid])
  return { uuid, claim }
}

const recordSuccess = ({ uuid, claim }: { uuid: string; claim: DrainClaim }) =>
  recordTestOutcomes(ctx, claim, { ended: asEnded([uuid], { responseStatus: 204 }) })

const isInFlight = async (uuid: string) => (await readDrain(ctx))?.inFlight.includes(uuid) ?? false

/** Claims a batch of three recipients for the worker, and two of its recipients. */
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
  expect(await claimTestMail(ctx, uuid, workerId)).toBeDefined()
  return uuid
}

async function publishAll() {
  await database.db.update(work).set({ publishedAt: timestampNow() })
}

async function findUnpublished(): Promise<string[]> {
  const rows = await ctx.db
    .select({ id: work.id })
    .from(work)
    .where(and(eq(work.workspaceId, ctx.workspaceId), isNull(work.publishedAt)))
    .orderBy(work.createdAt, work.id)
  return rows.map((row) => row.id)
}

describe('claims of a crashed worker', () => {
  test('a delivery becomes INTERRUPTED and is never attempted again', async () => {
    await claimNewDelivery()
    await crashWorker()
    const attempted = { worker_id: workerId, attempted_at: expect.any(String) as string }
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED', error: crashError, ...attempted })
    expect(await listPendingWork(ctx)).toEqual([])
    expect(await readDrain(ctx)).toBeUndefined()
    const { take } = await claimTestDrain(ctx, { workerId: await createTestWorker(database.db) })
    expect(take).toBeUndefined()
  })

  test('deliveries that were not in flight remain PENDING for the next owner', async () => {
    const { id } = await createTestWebhook(ctx)
    const uuids = await insertDeliveries(ctx, id, { count: 5 })
    const { claim } = await claimTestDrain(ctx, { workerId, limit: 3 })
    await recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 1)), inFlight: uuids.slice(1, 3) })
    await crashWorker()
    const { rows } = await database.pool.query<{ status: string }>(
      'select status from deliveries where webhook_id = $1 order by created_at, id',
      [uuidOf(id)],
    )
    expect(rows.map(({ status }) => status)).toEqual(['SUCCEEDED', 'INTERRUPTED', 'INTERRUPTED', 'PENDING', 'PENDING'])
    const next = await claimTestDrain(ctx, { workerId: await createTestWorker(database.db) })
    expect(getTakenIds(next.take)).toEqual(uuids.slice(3))
  })

  test('recipients being sent to become INTERRUPTED, and the batch is requeued', async () => {
    const { campaignId, uuid } = await claimNewBatch()
    await publishAll()
    await crashWorker()
    expect(await countRecipients(ctx, campaignId)).toEqual({ INTERRUPTED: 2 })
    expect(await findUnpublished()).toEqual([uuid])
    const next = await claimTestBatch(ctx, uuid, await createTestWorker(database.db))
    const { recipients } = await claimRecipients(ctx, next, next.contactUuids)
    expect(recipients).toHaveLength(1)
  })

  test('a confirmation mail is requeued, a test mail becomes INTERRUPTED', async () => {
    const confirmation = await claimNewMail('CONFIRMATION')
    const testMail = await claimNewMail('CAMPAIGN_TEST')
    await publishAll()
    await crashWorker()
    expect(await findUnpublished()).toEqual([confirmation])
    expect(await listPendingWork(ctx)).toEqual([confirmation])
    const rows = await ctx.db
      .select()
      .from(mails)
      .where(eq(mails.workspaceId, ctx.workspaceId))
      .orderBy(mails.createdAt)
    expect(rows.map((mail) => [uuidOf(mail.id), mail.status])).toEqual([
      [confirmation, 'PENDING'],
      [testMail, 'INTERRUPTED'],
    ])
  })

  test('claims of a running worker remain when another worker crashes', async () => {
    const { campaignId, uuid } = await claimNewBatch()
    await claimNewMail('CONFIRMATION')
    const { uuid: inFlight } = await claimNewDelivery()
    await publishAll()
    await database.db.execute(sql`update workers set seen_at = now() - interval '14 seconds' where id = ${workerId}`)
    await crashWorker(await createTestWorker(database.db))
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENDING: 2 })
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'PENDING' })
    expect([await findUnpublished(), await isInFlight(inFlight)]).toEqual([[], true])
    expect(await findClaims(database.db, workerId)).toContain(uuid)
    expect(await recover(13_000), 'with a shorter timeout, it crashed too').toMatchObject({ deliveries: 1 })
  })

  test('recorded outcomes do not change', async () => {
    await recordSuccess(await claimNewDelivery())
    const { campaignId, batch, recipients } = await claimNewBatch()
    const outcomes = recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null }))
    await recordRecipientOutcomes(ctx, batch, outcomes)
    await crashWorker()
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED', error: null })
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENT: 2 })
  })

  test('a claim by a worker that is not registered becomes INTERRUPTED too', async () => {
    await crashWorker()
    const { uuid } = await claimNewDelivery()
    await recover()
    expect(await readSingleDelivery(ctx)).toMatchObject({ uuid, status: 'INTERRUPTED' })
  })

  test('claims of a worker are recovered immediately after it deregisters', async () => {
    await claimNewDelivery()
    await deregisterWorker(database.db, workerId)
    await recoverOrphanedClaims(database.db)
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED' })
    expect(await database.db.select().from(workers).where(eq(workers.id, workerId))).toEqual([])
  })
})

describe('a running worker that was removed from the registry', () => {
  test('registers again with the next heartbeat and keeps its next claims', async () => {
    await crashWorker()
    await recordHeartbeat(database.db, workerId)
    const { uuid } = await claimNewDelivery()
    await recover()
    expect([(await readSingleDelivery(ctx)).status, await isInFlight(uuid)]).toEqual(['PENDING', true])
  })

  test('overwrites INTERRUPTED with a late result', async () => {
    const delivery = await claimNewDelivery()
    const { campaignId, batch, recipients } = await claimNewBatch()
    await crashWorker()
    expect(await recordSuccess(delivery)).toBeUndefined()
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED', error: null, response_status: 204 })
    const outcomes = recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null }))
    await recordRecipientOutcomes(ctx, batch, outcomes)
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENT: 2 })
  })

  test('cannot claim more recipients of a batch that was released', async () => {
    const { batch } = await claimNewBatch()
    await crashWorker()
    expect(await claimRecipients(ctx, batch, batch.contactUuids)).toEqual({ isStopped: true, recipients: [] })
  })
})

describe('recovery', () => {
  test('recovers every claim once when workers run it concurrently', async () => {
    await claimNewDelivery()
    const { uuid } = await claimNewBatch()
    await publishAll()
    await expireWorkerHeartbeat(database.db, workerId)
    await Promise.all(Array.from({ length: 8 }, recover))
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED' })
    expect(await findUnpublished()).toEqual([uuid])
  })

  test('does not deadlock with a late result', async () => {
    const other = await createTestCtx(database.db)
    const first = await claimNewDelivery(other)
    const delivery = await claimNewDelivery()
    await expireWorkerHeartbeat(database.db, workerId)
    // Stops the recovery after it has locked the drain of a workspace. It recovers one claim at a time.
    const half = await openTransaction(database.db, (db) =>
      db.execute(
        sql`select from deliveries where workspace_id = ${uuidOf(ctx.workspaceId)} and id in (${first.uuid}, ${delivery.uuid}) for update`,
      ),
    )
    const recovering = recover()
    await waitUntilBlocked(database.db)
    const recording = recordSuccess(delivery)
    await waitUntilBlocked(database.db, 2)
    await Promise.all([half.commit(), recovering, recording])
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
    expect(await readSingleDelivery(other)).toMatchObject({ status: 'INTERRUPTED' })
  })
})

describe('an orphaned claim of a running worker', () => {
  test('is found by the UUID of its subject, for every kind of work', async () => {
    const expected = [
      (await claimNewDelivery()).claim.id,
      (await claimNewBatch()).uuid,
      await claimNewMail('CONFIRMATION'),
      await claimNewMail('CAMPAIGN_TEST'),
    ]
    expect(expected).toContain(drainId)
    expect((await findClaims(database.db, workerId)).toSorted()).toEqual(expected.toSorted())
    expect(await findClaims(database.db, randomUUID())).toEqual([])
  })

  test('is recovered as after a crash, without the claims that the process still has', async () => {
    const { claim: drain } = await claimNewDelivery()
    const { batch, uuid: batchUuid, campaignId } = await claimNewBatch()
    const mailUuid = await claimNewMail('CONFIRMATION')
    await publishAll()
    const recoverAllBut = (...live: { tokens: readonly string[] }[]) =>
      recoverOwnClaims(database.db, { workerId, isLive: (token) => live.some(({ tokens }) => tokens.includes(token)) })
    expect(await recoverAllBut(batch.claim)).toEqual({ deliveries: 1, mails: {}, errors: [] })
    expect(await readSingleDelivery(ctx)).toMatchObject({
      status: 'INTERRUPTED',
      error: 'The outcome could not be recorded',
    })
    expect(await findUnpublished()).toEqual([mailUuid])
    expect(await countRecipients(ctx, campaignId)).toEqual({ SENDING: 2 })
    expect(await recoverAllBut(drain)).toEqual({ deliveries: 0, mails: { CAMPAIGN: 2 }, errors: [] })
    expect(await countRecipients(ctx, campaignId)).toEqual({ INTERRUPTED: 2 })
    expect((await findUnpublished()).toSorted()).toEqual([batchUuid, mailUuid].toSorted())
    expect(await findClaims(database.db, workerId)).toEqual([])
  })

  test('that cannot be recovered yet does not hold up the others', async () => {
    const { uuid } = await claimNewBatch()
    const mailUuid = await claimNewMail('CONFIRMATION')
    const frozen = await openTransaction(database.db, (db) =>
      db.execute(sql`select from work where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuid} for update`),
    )
    const { errors } = await recoverOwnClaims(openImpatient(database), { workerId, isLive: () => false })
    expect(errors).toHaveLength(1)
    expect(await findClaims(database.db, workerId)).toEqual([uuid])
    expect(await findUnpublished()).toEqual([uuid, mailUuid])
    await frozen.commit()
  })
})
