import { and, eq, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { type CampaignId, idOf, newId, uuidOf } from '../kernel/ids.ts'
import { campaignBatches, campaignRecipients, campaigns, contacts, subscriptions } from '../db/schema/index.ts'
import { claimTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { openTransaction } from '@rapport/testing/postgres/database.ts'
import {
  countRecipients,
  createTestCampaign,
  createTestCtx,
  createTestWorker,
  listEventTypes,
  expireWorkerHeartbeat,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readCampaign } from './campaigns.ts'
import { sendCampaign } from './send-campaign.ts'
import type { RecipientOutcome } from './outcomes.ts'
import {
  claimBatch,
  type ClaimedBatch,
  type ClaimedRecipient,
  claimRecipients,
  finishBatch,
  releaseAndRequeueBatch,
  releaseBatch,
  recordRecipientOutcomes,
  releaseRecipients,
} from './sending.ts'
import { recoverOrphanedClaims } from '../operations/orphaned-claims.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let workerId: string
beforeEach(async () => {
  workerId = await createTestWorker(database.db)
})

const startCampaign = (confirmed: number) => startTestCampaign(ctx, confirmed)
const claim = (uuid?: string, by = workerId) => claimTestBatch(ctx, uuid, by)

const claimAll = async (batch: ClaimedBatch) => (await claimRecipients(ctx, batch, batch.contactUuids)).recipients
const createOutcomes = (recipients: ClaimedRecipient[], status: RecipientOutcome['status']) =>
  recipients.map(({ id }) => ({ contactId: id, status, error: status === 'SENT' ? null : '450 later' }))
const record = (batch: ClaimedBatch, recipients: ClaimedRecipient[], status: RecipientOutcome['status'] = 'SENT') =>
  recordRecipientOutcomes(ctx, batch, createOutcomes(recipients, status))

const setCampaign = (id: CampaignId, status: 'PAUSED' | 'CANCELED' | 'SENDING') =>
  ctx.db.update(campaigns).set({ status }).where(eq(campaigns.id, id))

const setSubscription = (contactUuid: string | undefined, status: 'UNSUBSCRIBED' | 'BOUNCED') =>
  ctx.db
    .update(subscriptions)
    .set({ status })
    .where(eq(subscriptions.contactId, idOf('con', contactUuid ?? '')))

async function readRecipient(contactUuid: string | undefined) {
  const [row] = await ctx.db
    .select()
    .from(campaignRecipients)
    .where(
      and(
        eq(campaignRecipients.workspaceId, ctx.workspaceId),
        eq(campaignRecipients.contactId, idOf('con', contactUuid ?? '')),
      ),
    )
  return row
}

async function readBatch(uuid: string | undefined) {
  const [row] = await ctx.db
    .select()
    .from(campaignBatches)
    .where(eq(campaignBatches.id, idOf('bat', uuid ?? '')))
  return row
}

describe('a batch', () => {
  test('is claimed by one of 50 concurrent calls, and not in another workspace', async () => {
    const { batches } = await startCampaign(3)
    const claims = await Promise.all(Array.from({ length: 50 }, () => claimBatch(ctx, batches[0] ?? '', workerId)))
    expect(claims.filter(Boolean)).toHaveLength(1)
    expect(await claimBatch(await createTestCtx(database.db), batches[0] ?? '', workerId)).toBeUndefined()
  })

  test('of a PAUSED campaign cannot be claimed; of a CANCELED one it can', async () => {
    const { id, batches } = await startCampaign(3)
    await setCampaign(id, 'PAUSED')
    await expect(claim(batches[0])).rejects.toThrow('could not be claimed')
    await setCampaign(id, 'CANCELED')
    expect(await claim(batches[0])).toMatchObject({ isCanceled: true })
  })

  test('can be claimed again after its owner released it', async () => {
    const { batches } = await startCampaign(3)
    const batch = await claim(batches[0])
    expect(await releaseBatch(ctx, batch)).toBe(true)
    const other = await createTestWorker(database.db)
    const claimedByOther = await claim(batches[0], other)
    expect(await releaseBatch(ctx, batch)).toBe(false)
    await releaseAndRequeueBatch(ctx, batch)
    expect(await readBatch(batches[0])).toMatchObject({ status: 'SENDING', workerId: other })
    await releaseAndRequeueBatch(ctx, claimedByOther)
    expect(await readBatch(batches[0])).toMatchObject({ status: 'PENDING', workerId: null })
  })
})

describe('a recipient', () => {
  test('is claimed by one of 12 concurrent calls with the same batch', async () => {
    const { batches } = await startCampaign(40)
    const batch = await claim(batches[0])
    const claimed = await Promise.all(Array.from({ length: 12 }, () => claimAll(batch)))
    const ids = claimed.flat().map(({ id }) => uuidOf(id))
    expect(ids.toSorted()).toEqual(batch.contactUuids.toSorted())
    expect(await claimAll(batch)).toEqual([])
  })

  test('that unsubscribed, bounced or was deleted is SKIPPED with a reason', async () => {
    const { id, batches } = await startCampaign(4)
    const batch = await claim(batches[0])
    const [unsubscribed, bounced, deleted, subscribed] = batch.contactUuids
    await setSubscription(unsubscribed, 'UNSUBSCRIBED')
    await setSubscription(bounced, 'BOUNCED')
    await ctx.db.delete(contacts).where(eq(contacts.id, idOf('con', deleted ?? '')))
    expect((await claimAll(batch)).map(({ id }) => uuidOf(id))).toEqual([subscribed])
    expect(await countRecipients(ctx, id)).toEqual({ SKIPPED: 3, SENDING: 1 })
    for (const uuid of [unsubscribed, bounced, deleted]) {
      expect(await readRecipient(uuid)).toMatchObject({
        error: 'The contact is no longer subscribed',
        settledAt: expect.any(Date),
      })
    }
  })

  test('that is WAITING and unsubscribes is SKIPPED', async () => {
    const { batches } = await startCampaign(1)
    const batch = await claim(batches[0])
    await record(batch, await claimAll(batch), 'WAITING')
    await setSubscription(batch.contactUuids[0], 'UNSUBSCRIBED')
    expect(await claimAll(batch)).toEqual([])
    expect(await readRecipient(batch.contactUuids[0])).toMatchObject({ status: 'SKIPPED' })
    expect(await finishBatch(ctx, batch)).toBe('done')
  })

  test.each(['PAUSED', 'CANCELED'] as const)('of a %s campaign is not claimed', async (status) => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    await setCampaign(id, status)
    expect(await claimRecipients(ctx, batch, batch.contactUuids)).toEqual({ stopped: true, recipients: [] })
    expect(await countRecipients(ctx, id)).toEqual({})
  })

  test('can be claimed again after its release, without counting an attempt', async () => {
    const { batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    const recipients = await claimAll(batch)
    await record(batch, recipients.slice(1))
    await releaseRecipients(ctx, { ...batch, workerId: await createTestWorker(database.db) }, batch.contactUuids)
    expect(await claimAll(batch)).toEqual([])
    await releaseRecipients(ctx, batch, batch.contactUuids)
    expect(await claimAll(batch)).toMatchObject([{ id: recipients[0]?.id, attempts: 1 }])
  })
})

describe('an outcome', () => {
  test('is recorded once, and only by the worker that claimed the recipient', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    const recipients = await claimAll(batch)
    await record({ ...batch, workerId: await createTestWorker(database.db) }, recipients)
    expect(await countRecipients(ctx, id)).toEqual({ SENDING: 2 })
    await record(batch, recipients, 'WAITING')
    const again = await claimAll(batch)
    expect(again.map(({ attempts }) => attempts)).toEqual([2, 2])
    await record(batch, again)
    await record(batch, recipients, 'WAITING')
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 2 })
  })

  test('that arrives late overwrites INTERRUPTED; WAITING is recorded as FAILED', async () => {
    const { id, batches } = await startCampaign(3)
    const batch = await claim(batches[0])
    const [one, two, three] = (await claimAll(batch)).map((recipient) => [recipient])
    await expireWorkerHeartbeat(database.db, workerId)
    await recoverOrphanedClaims(database.db)
    const other = await claim(batches[0], await createTestWorker(database.db))
    expect(await finishBatch(ctx, other)).toBe('done')
    await record(batch, one ?? [], 'SENT')
    await record(batch, two ?? [], 'FAILED')
    await record(batch, three ?? [], 'WAITING')
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 1, FAILED: 2 })
    expect(await readRecipient(uuidOf(three?.[0]?.id ?? newId('con')))).toMatchObject({
      error: '450 later',
      settledAt: expect.any(Date),
    })
  })
})

describe('finishing', () => {
  test('the last batch completes the campaign and emits campaign.sent', async () => {
    const { id, batches } = await startCampaign(201)
    for (const uuid of batches) {
      expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING', completedAt: null })
      const batch = await claim(uuid)
      await record(batch, await claimAll(batch))
      expect(await finishBatch(ctx, batch)).toBe('done')
      expect(await finishBatch(ctx, batch)).toBe('done')
    }
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', completedAt: expect.any(String) })
    expect(await listPendingWork(ctx)).toEqual([])
    expect(await listEventTypes(ctx)).toEqual(['campaign.sending', 'campaign.sent'])
  })

  test('all batches concurrently completes the campaign exactly once', { timeout: 30_000 }, async () => {
    for (let round = 0; round < 25; round++) {
      const inRound = await createTestCtx(database.db)
      const campaign = await createTestCampaign(inRound, { confirmed: 4 })
      await sendCampaign(inRound, campaign.id)
      // Splits the batch into four batches of one recipient.
      await database.db.execute(sql`
        with old as (delete from campaign_batches where campaign_id = ${uuidOf(campaign.id)} returning *)
        insert into campaign_batches (workspace_id, id, campaign_id, contact_ids, status, worker_id)
        select workspace_id, uuidv7(), campaign_id, array[contact], 'SENDING', ${workerId}
        from old, unnest(contact_ids) contact`)
      const rows = await database.db.select().from(campaignBatches).where(eq(campaignBatches.campaignId, campaign.id))
      const claimed = { campaignId: campaign.id, workerId, isCanceled: false }
      const finished = rows.map((row) =>
        finishBatch(inRound, { ...claimed, uuid: uuidOf(row.id), contactUuids: row.contactIds }),
      )
      expect(await Promise.all(finished)).toEqual(['done', 'done', 'done', 'done'])
      expect(await listEventTypes(inRound)).toEqual(['campaign.sending', 'campaign.sent'])
    }
  })

  test('a batch waits while a recipient is WAITING', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    const [first, second] = await claimAll(batch)
    await record(batch, first ? [first] : [])
    await record(batch, second ? [second] : [], 'WAITING')
    expect(await finishBatch(ctx, batch)).toBe('waiting')
    expect(await readBatch(batches[0])).toMatchObject({ status: 'PENDING', workerId: null })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING' })
    expect(await listPendingWork(ctx)).toEqual(batches)
  })

  test('a batch waits while its previous owner is SENDING to a recipient', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    await expireWorkerHeartbeat(database.db, workerId)
    // The claim commits after recovery has released the batch: the worker was slow, not crashed.
    const claiming = await openTransaction(database.db, (db) =>
      claimRecipients({ ...ctx, db }, batch, batch.contactUuids.slice(0, 1)),
    )
    await recoverOrphanedClaims(database.db)
    await claiming.commit()
    const other = await claim(batches[0], await createTestWorker(database.db))
    await record(other, await claimAll(other))
    expect(await finishBatch(ctx, other)).toBe('waiting')
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING' })
    const contactId = idOf('con', batch.contactUuids[0] ?? '')
    await recordRecipientOutcomes(ctx, batch, [{ contactId, status: 'SENT', error: null }])
    expect(await finishBatch(ctx, await claim(batches[0]))).toBe('done')
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 2 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT' })
  })

  test('a batch that was released is a no-op', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    await releaseBatch(ctx, batch)
    expect(await finishBatch(ctx, batch)).toBe('done')
    expect(await readBatch(batches[0])).toMatchObject({ status: 'PENDING' })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING' })
    expect(await listPendingWork(ctx)).toEqual(batches)
  })

  test('a batch does not block the claims of another batch', async () => {
    const { batches } = await startCampaign(201)
    const [first, second] = [await claim(batches[0]), await claim(batches[1])]
    const finishing = await openTransaction(database.db, (db) => finishBatch({ ...ctx, db }, first))
    expect(await claimAll(second)).toHaveLength(second.contactUuids.length)
    await finishing.commit()
  })
})
