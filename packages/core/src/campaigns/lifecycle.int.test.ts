import { eq, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { type CampaignId, newId, uuidOf } from '../kernel/ids.ts'
import { campaigns } from '../db/schema/index.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  countRecipients,
  createTestCampaign,
  createTestCtx,
  createTestWorker,
  listEventTypes,
  expireWorkerHeartbeat,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readStats } from './campaign-stats.ts'
import { readCampaign, updateCampaign } from './campaigns.ts'
import { sendCampaign } from './send-campaign.ts'
import { cancelCampaign, pauseCampaign, resumeCampaign, retryCampaign } from './lifecycle.ts'
import type { RecipientOutcome } from './outcomes.ts'
import { type ClaimedBatch, claimRecipients, finishBatch, recordRecipientOutcomes, skipRecipients } from './sending.ts'
import { deleteList } from '../lists/delete-list.ts'
import { recoverOrphanedClaims } from '../operations/recovery/recover-claims.ts'
import { releaseClaim } from '../work/claims.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'

const database = useTestDatabase()
let ctx: Ctx
let workerId: string
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  workerId = await createTestWorker(database.db)
})

const start = (confirmed: number) => startTestCampaign(ctx, confirmed)
const claim = (uuid?: string, by = workerId) => claimTestBatch(ctx, uuid, by)

/** Sends to the recipients from index `from` to `to` of the batch, and records the same outcome for all of them. */
const send = async (batch: ClaimedBatch, [from, to]: [number, number], status?: RecipientOutcome['status']) =>
  (await sendTestBatch(ctx, batch, { from, to, ...(status && { status }) })).isStopped

/** Skips a batch of a canceled campaign, like a worker. */
async function skip(uuid: string) {
  const batch = await claim(uuid)
  expect(batch.isCanceled).toBe(true)
  await skipRecipients(ctx, batch)
  return finishBatch(ctx, batch)
}

/** Simulates that all work has been published. */
const publishAll = () => database.db.execute(sql`update work set published_at = now()`)
const countUnpublished = async () =>
  (
    await database.db.execute(sql`select id from work where published_at is null
    and workspace_id = ${uuidOf(ctx.workspaceId)}`)
  ).rows.length

describe('pausing', () => {
  test('stops workers at their next group and keeps recipients pending until resumed', async () => {
    const { id, batches } = await start(250)
    const batch = await claim(batches[0])
    expect(await send(batch, [0, 20])).toBe(false)
    const paused = await pauseCampaign(ctx, id)
    expect(paused).toMatchObject({ status: 'PAUSED', pauseReason: null })
    expect(await send(batch, [20, 40])).toBe(true)
    expect(await readStats(ctx, id)).toMatchObject({ queued: 250, sent: 20, pending: 230 })
    await publishAll()
    expect(await resumeCampaign(ctx, id)).toMatchObject({ status: 'SENDING' })
    // Jobs that ran during the pause did nothing, so resuming enqueues all open batches again.
    expect(await countUnpublished()).toBe(2)
    expect(await send(batch, [20, 40])).toBe(false)
    expect(await listEventTypes(ctx)).toEqual(['campaign.sending'])
  })

  test('is idempotent and conflicts for a DRAFT, like resuming and canceling', async () => {
    const { id } = await start(3)
    const paused = await pauseCampaign(ctx, id, 'because')
    expect(await pauseCampaign(ctx, id, 'for another reason')).toEqual(paused)
    expect(paused.pauseReason).toBe('because')
    const resumed = await resumeCampaign(ctx, id)
    expect(await resumeCampaign(ctx, id)).toEqual(resumed)
    const canceled = await cancelCampaign(ctx, id)
    expect(await cancelCampaign(ctx, id)).toEqual(canceled)
    expect(await listEventTypes(ctx)).toEqual(['campaign.sending', 'campaign.canceled'])
    const draft = await createTestCampaign(ctx, { listId: canceled.listId ?? newId('lst') })
    for (const [operation, action, allowed] of [
      [pauseCampaign, 'paused', 'SENDING'],
      [resumeCampaign, 'resumed', 'PAUSED'],
      [cancelCampaign, 'canceled', 'SENDING or PAUSED'],
    ] as const) {
      const message = `Only a campaign that is ${allowed} can be ${action}: this campaign is DRAFT`
      await expect(operation(ctx, draft.id)).rejects.toMatchObject({ code: 'wrong_state', message })
    }
  })

  test('while the last batch finishes leaves the campaign SENT', async () => {
    for (const pausesFirst of [true, false]) {
      const { id, batches } = await start(3)
      const batch = await claim(batches.at(-1))
      await send(batch, [0, 3])
      const [first, second] = pausesFirst
        ? ([(ctx: Ctx) => pauseCampaign(ctx, id), (ctx: Ctx) => finishBatch(ctx, batch)] as const)
        : ([(ctx: Ctx) => finishBatch(ctx, batch), (ctx: Ctx) => pauseCampaign(ctx, id)] as const)
      const open = await openTransaction(database.db, async (db) => void (await first({ ...ctx, db })))
      const racing: Promise<unknown> = second(ctx).catch((error: unknown) => error)
      await waitUntilBlocked(database.db)
      await open.commit()
      await racing
      expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', completedAt: expect.any(String) })
      ctx = await createTestCtx(database.db)
    }
  })
})

describe('canceling', () => {
  test('skips the pending recipients and keeps the outcomes of mails being sent', async () => {
    const { id, batches } = await start(410)
    const batch = await claim(batches[0])
    await send(batch, [0, 20])
    await send(batch, [20, 25], 'WAITING')
    const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids.slice(25, 45))
    await cancelCampaign(ctx, id)
    await recordRecipientOutcomes(
      ctx,
      batch,
      recipients.map((one) => ({ contactId: one.id, status: 'SENT', error: null })),
    )
    expect(await send(batch, [45, 65])).toBe(true)
    await releaseClaim(ctx, batch.claim, 'requeue')
    for (const uuid of batches) {
      expect(await readCampaign(ctx, id)).toMatchObject({ status: 'CANCELED', completedAt: null })
      expect(await skip(uuid)).toBe('done')
    }
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'CANCELED', completedAt: expect.any(String) })
    expect(await readStats(ctx, id)).toMatchObject({ queued: 410, sent: 40, skipped: 370, pending: 0 })
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 40, SKIPPED: 370 })
    expect(await listEventTypes(ctx)).toEqual(['campaign.sending', 'campaign.canceled'])
    expect(await listPendingWork(ctx)).toEqual([])
  })

  test('a paused campaign requeues its batches, so that workers skip them', async () => {
    const { id } = await start(250)
    await pauseCampaign(ctx, id)
    await publishAll()
    await cancelCampaign(ctx, id)
    expect(await countUnpublished()).toBe(2)
  })

  test('skips each recipient once, also after a worker crash', async () => {
    const { id, batches } = await start(30)
    await cancelCampaign(ctx, id)
    const batch = await claim(batches[0])
    await skipRecipients(ctx, batch)
    await expireWorkerHeartbeat(database.db, workerId)
    await recoverOrphanedClaims(database.db)
    workerId = await createTestWorker(database.db)
    expect(await skip(batches[0] ?? '')).toBe('done')
    expect(await readStats(ctx, id)).toMatchObject({ skipped: 30, pending: 0 })
  })

  test('waits for a concurrent send and then cancels the campaign', async () => {
    const campaign = await createTestCampaign(ctx, { confirmed: 3 })
    const sending = await openTransaction(database.db, (db) => sendCampaign({ ...ctx, db }, campaign.id))
    const canceling = cancelCampaign(ctx, campaign.id)
    await waitUntilBlocked(database.db)
    await sending.commit()
    expect(await canceling).toMatchObject({ status: 'CANCELED', queued: 3 })
  })
})

describe('a retry', () => {
  test('sends to FAILED recipients, and to INTERRUPTED ones only if requested', async () => {
    const { id, batches } = await start(5)
    const batch = await claim(batches[0])
    await send(batch, [0, 1])
    await send(batch, [1, 3], 'FAILED')
    await send(batch, [3, 5], 'INTERRUPTED')
    await finishBatch(ctx, batch)
    expect(await readStats(ctx, id)).toMatchObject({ sent: 1, failed: 2, interrupted: 2, pending: 0 })

    expect(await retryCampaign(ctx, id, { includeInterrupted: false })).toEqual({ queued: 2 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING', completedAt: null })
    expect(await readStats(ctx, id)).toMatchObject({ sent: 1, failed: 0, interrupted: 2, pending: 2 })
    expect(await listPendingWork(ctx, 'campaigns')).toEqual(batches)
    expect(await retryCampaign(ctx, id, { includeInterrupted: false })).toEqual({ queued: 0 })
    const again = await claim(batches[0])
    expect(again.contactUuids.toSorted()).toEqual(batch.contactUuids.slice(1, 3).toSorted())
    await send(again, [0, 5])
    expect(await finishBatch(ctx, again)).toBe('done')
    expect(await readStats(ctx, id)).toMatchObject({ sent: 3, interrupted: 2, pending: 0 })

    expect(await retryCampaign(ctx, id, { includeInterrupted: true })).toEqual({ queued: 2 })
    const last = await claim(batches[0])
    await send(last, [0, 5])
    await finishBatch(ctx, last)
    expect(await readStats(ctx, id)).toMatchObject({ sent: 5, interrupted: 0, pending: 0 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT' })
    expect((await listEventTypes(ctx)).filter((type) => type === 'campaign.sent')).toHaveLength(3)
  })

  test('is refused once the list was deleted: no batch could be sent', async () => {
    const { id, batches } = await start(2)
    const batch = await claim(batches[0])
    await send(batch, [0, 2], 'FAILED')
    await finishBatch(ctx, batch)
    const { listId } = await readCampaign(ctx, id)
    await deleteList(ctx, listId ?? newId('lst'))
    const retrying = retryCampaign(ctx, id, { includeInterrupted: true })
    await expect(retrying).rejects.toMatchObject({ message: 'The list of this campaign was deleted' })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT' })
  })

  test('run ten times concurrently queues each recipient once', async () => {
    const { id, batches } = await start(30)
    const batch = await claim(batches[0])
    await send(batch, [0, 30], 'FAILED')
    await finishBatch(ctx, batch)
    const results = await Promise.all(
      Array.from({ length: 10 }, () => retryCampaign(ctx, id, { includeInterrupted: true })),
    )
    expect(results.map(({ queued }) => queued).toSorted((a, b) => b - a)).toEqual([30, ...Array<number>(9).fill(0)])
    expect(await readStats(ctx, id)).toMatchObject({ failed: 0, pending: 30 })
  })

  test('while the batch finishes keeps the batch open', async () => {
    const { id, batches } = await start(4)
    const batch = await claim(batches[0])
    await send(batch, [0, 4], 'FAILED')
    const retrying = await openTransaction(database.db, (db) =>
      retryCampaign({ ...ctx, db }, id, { includeInterrupted: false }),
    )
    const finishing = finishBatch(ctx, batch)
    await waitUntilBlocked(database.db)
    await retrying.commit()
    expect(await finishing).toBe('retry')
    await releaseClaim(ctx, batch.claim, 'retry')
    const again = await claim(batches[0])
    await send(again, [0, 4])
    expect(await finishBatch(ctx, again)).toBe('done')
    expect(await readStats(ctx, id)).toMatchObject({ sent: 4, pending: 0 })
  })

  test('ignores the late outcome of a worker whose claim was recovered', async () => {
    const { id, batches } = await start(1)
    const batch = await claim(batches[0])
    const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids)
    await expireWorkerHeartbeat(database.db, workerId)
    await recoverOrphanedClaims(database.db)
    const other = await claim(batches[0], await createTestWorker(database.db))
    await finishBatch(ctx, other)
    expect(await readStats(ctx, id)).toMatchObject({ interrupted: 1 })
    await retryCampaign(ctx, id, { includeInterrupted: true })
    await recordRecipientOutcomes(
      ctx,
      batch,
      recipients.map((one) => ({ contactId: one.id, status: 'SENT', error: null })),
    )
    expect(await countRecipients(ctx, id)).toEqual({ WAITING: 1 })
  })

  test('keeps a PAUSED campaign paused and conflicts for a CANCELED one', async () => {
    const { id, batches } = await start(2)
    const batch = await claim(batches[0])
    await send(batch, [0, 1], 'FAILED')
    await pauseCampaign(ctx, id)
    expect(await retryCampaign(ctx, id, { includeInterrupted: false })).toEqual({ queued: 1 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'PAUSED' })
    await cancelCampaign(ctx, id)
    await expect(retryCampaign(ctx, id, { includeInterrupted: false })).rejects.toMatchObject({ code: 'wrong_state' })
  })
})

test('updatedAt never goes back, as the clocks of processes may differ', async () => {
  const { id, batches } = await start(1)
  const ahead = timestampAt(Date.now() + 60_000)
  const setAhead = (campaignId: CampaignId) =>
    database.db.update(campaigns).set({ updatedAt: ahead }).where(eq(campaigns.id, campaignId))
  await setAhead(id)
  const batch = await claim(batches[0])
  await send(batch, [0, 1])
  await finishBatch(ctx, batch)
  const { listId } = await readCampaign(ctx, id)
  const draft = await createTestCampaign(ctx, listId ? { listId } : {})
  await setAhead(draft.id)
  await updateCampaign(ctx, draft.id, { name: 'Another' })
  await sendCampaign(ctx, draft.id)
  const found = await Promise.all([id, draft.id].map((one) => readCampaign(ctx, one)))
  expect(found.map(({ status, updatedAt }) => [status, updatedAt])).toEqual([
    ['SENT', ahead],
    ['SENDING', ahead],
  ])
})
