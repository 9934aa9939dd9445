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
const outcomesOf = (recipients: ClaimedRecipient[], status: RecipientOutcome['status']) =>
  recipients.map(({ id }) => ({ contactId: id, status, error: status === 'SENT' ? null : '450 later' }))
const settle = (batch: ClaimedBatch, recipients: ClaimedRecipient[], status: RecipientOutcome['status'] = 'SENT') =>
  recordRecipientOutcomes(ctx, batch, outcomesOf(recipients, status))

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
  test('is in the hands of one, of fifty who ask at once', async () => {
    const { batches } = await startCampaign(3)
    const claims = await Promise.all(Array.from({ length: 50 }, () => claimBatch(ctx, batches[0] ?? '', workerId)))
    expect(claims.filter(Boolean)).toHaveLength(1)
    expect(await claimBatch(await createTestCtx(database.db), batches[0] ?? '', workerId)).toBeUndefined()
  })

  test("of a PAUSED campaign is in nobody's, and of a CANCELED one is taken to skip who is left", async () => {
    const { id, batches } = await startCampaign(3)
    await setCampaign(id, 'PAUSED')
    await expect(claim(batches[0])).rejects.toThrow('could not be claimed')
    await setCampaign(id, 'CANCELED')
    expect(await claim(batches[0])).toMatchObject({ isCanceled: true })
  })

  test('that is put back can be claimed by another; handed on, it waits for the relay as well', async () => {
    const { batches } = await startCampaign(3)
    const batch = await claim(batches[0])
    expect(await releaseBatch(ctx, batch)).toBe(true)
    const other = await createTestWorker(database.db)
    const theirs = await claim(batches[0], other)
    expect(await releaseBatch(ctx, batch)).toBe(false)
    await releaseAndRequeueBatch(ctx, batch)
    expect(await readBatch(batches[0])).toMatchObject({ status: 'SENDING', workerId: other })
    await releaseAndRequeueBatch(ctx, theirs)
    expect(await readBatch(batches[0])).toMatchObject({ status: 'PENDING', workerId: null })
  })
})

describe('a person', () => {
  test('is claimed once, by many with the same batch in hand who ask at once', async () => {
    const { batches } = await startCampaign(40)
    const batch = await claim(batches[0])
    const claimed = await Promise.all(Array.from({ length: 12 }, () => claimAll(batch)))
    const ids = claimed.flat().map(({ id }) => uuidOf(id))
    expect(ids.toSorted()).toEqual(batch.contactUuids.toSorted())
    expect(await claimAll(batch)).toEqual([])
  })

  test('who left the list, bounced, or is gone when their turn comes, is SKIPPED with the reason', async () => {
    const { id, batches } = await startCampaign(4)
    const batch = await claim(batches[0])
    const [left, bounced, gone, stays] = batch.contactUuids
    await setSubscription(left, 'UNSUBSCRIBED')
    await setSubscription(bounced, 'BOUNCED')
    await ctx.db.delete(contacts).where(eq(contacts.id, idOf('con', gone ?? '')))
    expect((await claimAll(batch)).map(({ id }) => uuidOf(id))).toEqual([stays])
    expect(await countRecipients(ctx, id)).toEqual({ SKIPPED: 3, SENDING: 1 })
    for (const uuid of [left, bounced, gone]) {
      expect(await readRecipient(uuid)).toMatchObject({
        error: 'Left the list before the mail was sent',
        settledAt: expect.any(Date),
      })
    }
  })

  test('who waits for another try and leaves meanwhile is SKIPPED', async () => {
    const { batches } = await startCampaign(1)
    const batch = await claim(batches[0])
    await settle(batch, await claimAll(batch), 'WAITING')
    await setSubscription(batch.contactUuids[0], 'UNSUBSCRIBED')
    expect(await claimAll(batch)).toEqual([])
    expect(await readRecipient(batch.contactUuids[0])).toMatchObject({ status: 'SKIPPED' })
    expect(await finishBatch(ctx, batch)).toBe('done')
  })

  test.each(['PAUSED', 'CANCELED'] as const)('of a campaign that was %s meanwhile is not claimed', async (status) => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    await setCampaign(id, status)
    expect(await claimRecipients(ctx, batch, batch.contactUuids)).toEqual({ stopped: true, recipients: [] })
    expect(await countRecipients(ctx, id)).toEqual({})
  })

  test('whose claim was not acted upon can be claimed again, and that try counts for nothing', async () => {
    const { batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    const recipients = await claimAll(batch)
    await settle(batch, recipients.slice(1))
    await releaseRecipients(ctx, { ...batch, workerId: await createTestWorker(database.db) }, batch.contactUuids)
    expect(await claimAll(batch)).toEqual([])
    await releaseRecipients(ctx, batch, batch.contactUuids)
    expect(await claimAll(batch)).toMatchObject([{ id: recipients[0]?.id, attempts: 1 }])
  })
})

describe('an answer of the mail server', () => {
  test('is recorded once, though its answer is lost and it comes again; and only by whose claim it was', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    const recipients = await claimAll(batch)
    await settle({ ...batch, workerId: await createTestWorker(database.db) }, recipients)
    expect(await countRecipients(ctx, id)).toEqual({ SENDING: 2 })
    await settle(batch, recipients, 'WAITING')
    const again = await claimAll(batch)
    expect(again.map(({ attempts }) => attempts)).toEqual([2, 2])
    await settle(batch, again)
    await settle(batch, recipients, 'WAITING')
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 2 })
  })

  test('that comes late corrects INTERRUPTED, but nobody is left waiting in a batch that is over', async () => {
    const { id, batches } = await startCampaign(3)
    const batch = await claim(batches[0])
    const [one, two, three] = (await claimAll(batch)).map((recipient) => [recipient])
    await expireWorkerHeartbeat(database.db, workerId)
    await recoverOrphanedClaims(database.db)
    const other = await claim(batches[0], await createTestWorker(database.db))
    expect(await finishBatch(ctx, other)).toBe('done')
    await settle(batch, one ?? [], 'SENT')
    await settle(batch, two ?? [], 'FAILED')
    await settle(batch, three ?? [], 'WAITING')
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 1, FAILED: 2 })
    expect(await readRecipient(uuidOf(three?.[0]?.id ?? newId('con')))).toMatchObject({
      error: '450 later',
      settledAt: expect.any(Date),
    })
  })
})

describe('the end', () => {
  test('of the last batch completes the campaign and tells it', async () => {
    const { id, batches } = await startCampaign(201)
    for (const uuid of batches) {
      expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING', completedAt: null })
      const batch = await claim(uuid)
      await settle(batch, await claimAll(batch))
      expect(await finishBatch(ctx, batch)).toBe('done')
      expect(await finishBatch(ctx, batch)).toBe('done')
    }
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', completedAt: expect.any(String) })
    expect(await listPendingWork(ctx)).toEqual([])
    expect(await listEventTypes(ctx)).toEqual(['campaign.sending', 'campaign.sent'])
  })

  test('comes once, and does come, when batches finish at the same moment', { timeout: 30_000 }, async () => {
    for (let round = 0; round < 25; round++) {
      const inRound = await createTestCtx(database.db)
      const campaign = await createTestCampaign(inRound, { confirmed: 4 })
      await sendCampaign(inRound, campaign.id)
      // Four batches of one, as of a list that is two hundred times as long.
      await database.db.execute(sql`
        with old as (delete from campaign_batches where campaign_id = ${uuidOf(campaign.id)} returning *)
        insert into campaign_batches (workspace_id, id, campaign_id, contact_ids, status, worker_id)
        select workspace_id, uuidv7(), campaign_id, array[contact], 'SENDING', ${workerId}
        from old, unnest(contact_ids) contact`)
      const rows = await database.db.select().from(campaignBatches).where(eq(campaignBatches.campaignId, campaign.id))
      const inHand = { campaignId: campaign.id, workerId, isCanceled: false }
      const finished = rows.map((row) =>
        finishBatch(inRound, { ...inHand, uuid: uuidOf(row.id), contactUuids: row.contactIds }),
      )
      expect(await Promise.all(finished)).toEqual(['done', 'done', 'done', 'done'])
      expect(await listEventTypes(inRound)).toEqual(['campaign.sending', 'campaign.sent'])
    }
  })

  test('waits while somebody is to be tried again', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    const [first, second] = await claimAll(batch)
    await settle(batch, first ? [first] : [])
    await settle(batch, second ? [second] : [], 'WAITING')
    expect(await finishBatch(ctx, batch)).toBe('waiting')
    expect(await readBatch(batches[0])).toMatchObject({ status: 'PENDING', workerId: null })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING' })
    expect(await listPendingWork(ctx)).toEqual(batches)
  })

  test('waits while a worker that had the batch before still sends to somebody', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    await expireWorkerHeartbeat(database.db, workerId)
    // Its claim was on its way when it was buried; it lives, and beats again.
    const claiming = await openTransaction(database.db, (db) =>
      claimRecipients({ ...ctx, db }, batch, batch.contactUuids.slice(0, 1)),
    )
    await recoverOrphanedClaims(database.db)
    await claiming.commit()
    const other = await claim(batches[0], await createTestWorker(database.db))
    await settle(other, await claimAll(other))
    expect(await finishBatch(ctx, other)).toBe('waiting')
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING' })
    const contactId = idOf('con', batch.contactUuids[0] ?? '')
    await recordRecipientOutcomes(ctx, batch, [{ contactId, status: 'SENT', error: null }])
    expect(await finishBatch(ctx, await claim(batches[0]))).toBe('done')
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 2 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT' })
  })

  test('of a batch that is in other hands by now changes nothing', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    await releaseBatch(ctx, batch)
    expect(await finishBatch(ctx, batch)).toBe('done')
    expect(await readBatch(batches[0])).toMatchObject({ status: 'PENDING' })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING' })
    expect(await listPendingWork(ctx)).toEqual(batches)
  })

  test('of one batch does not hold up the claims of another', async () => {
    const { batches } = await startCampaign(201)
    const [first, second] = [await claim(batches[0]), await claim(batches[1])]
    const finishing = await openTransaction(database.db, (db) => finishBatch({ ...ctx, db }, first))
    expect(await claimAll(second)).toHaveLength(second.contactUuids.length)
    await finishing.commit()
  })
})
