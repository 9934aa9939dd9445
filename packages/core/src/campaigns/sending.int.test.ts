import { randomUUID } from 'node:crypto'
import { and, eq, inArray, sql } from 'drizzle-orm'
import { countRuns } from '@rapport/testing/runs.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { type CampaignId, idOf, newId, uuidOf } from '../kernel/ids.ts'
import { campaignBatches, campaignRecipients, campaigns, contacts, subscriptions, work } from '../db/schema/index.ts'
import { claimTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
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
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readCampaign } from './campaigns.ts'
import { sendCampaign } from './send-campaign.ts'
import type { RecipientOutcome } from './outcomes.ts'
import {
  type ClaimedBatch,
  type ClaimedRecipient,
  claimRecipients,
  finishBatch,
  recordRecipientOutcomes,
  recoverBatch,
} from './sending.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { recoverOrphanedClaims } from '../operations/recovery/recover-claims.ts'
import { releaseClaim } from '../work/claims.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let workerId: string
beforeEach(async () => {
  workerId = await createTestWorker(database.db)
})

const lost = { error: 'The outcome could not be recorded', release: 'retry' } as const
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

describe('a batch', () => {
  test('is claimed by one of 50 concurrent calls, and not in another workspace', async () => {
    const { batches } = await startCampaign(3)
    const uuid = batches[0] ?? ''
    const claims = await Promise.allSettled(Array.from({ length: 50 }, () => claim(uuid)))
    expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await expect(claimTestBatch(await createTestCtx(database.db), uuid, workerId)).rejects.toThrow('could not be')
  })

  test('of a PAUSED campaign cannot be claimed; of a CANCELED one it can', async () => {
    const { id, batches } = await startCampaign(3)
    await setCampaign(id, 'PAUSED')
    await expect(claim(batches[0])).rejects.toThrow('could not be claimed')
    await setCampaign(id, 'CANCELED')
    expect(await claim(batches[0])).toMatchObject({ isCanceled: true })
  })

  test('can be claimed again after its release, which is of no effect later', async () => {
    const { batches } = await startCampaign(3)
    const batch = await claim(batches[0])
    await releaseClaim(ctx, batch.claim, 'retry')
    const later = await claim(batches[0])
    await claimAll(later)
    await releaseClaim(ctx, batch.claim, 'requeue')
    expect(await recoverBatch(ctx.db, batch.claim, lost)).toBe(0)
    await expect(claim(batches[0])).rejects.toThrow('could not be claimed')
    await releaseClaim(ctx, later.claim, 'requeue')
    expect(await claim(batches[0])).toBeDefined()
  })
})

describe('a recipient', () => {
  test('is claimed by one of 12 concurrent calls with the same token', async () => {
    const { batches } = await startCampaign(40)
    const batch = await claim(batches[0])
    const copies = Array.from({ length: 12 }, () => ({ ...batch, claim: { ...batch.claim } }))
    const claimed = await Promise.all(copies.map(claimAll))
    const ids = claimed.flat().map(({ id }) => uuidOf(id))
    expect(ids.toSorted()).toEqual(batch.contactUuids.toSorted())
    // The token of the others is not that of the batch anymore.
    const winner = copies.find((_, index) => (claimed[index]?.length ?? 0) > 0)
    expect(await Promise.all(copies.map((copy) => claimRecipients(ctx, copy, [])))).toEqual(
      copies.map((copy) => ({ isStopped: copy !== winner, recipients: [] })),
    )
  })

  test('that unsubscribed, bounced, was deleted or merged is SKIPPED with a reason', async () => {
    const { id, batches } = await startCampaign(5)
    const batch = await claim(batches[0])
    const [unsubscribed, bounced, deleted, merged, subscribed] = batch.contactUuids
    await setSubscription(unsubscribed, 'UNSUBSCRIBED')
    await setSubscription(bounced, 'BOUNCED')
    await ctx.db.delete(contacts).where(eq(contacts.id, idOf('con', deleted ?? '')))
    await mergeContacts(ctx, idOf('con', subscribed ?? ''), { contactId: idOf('con', merged ?? '') })
    expect((await claimAll(batch)).map(({ id }) => uuidOf(id))).toEqual([subscribed])
    expect(await countRecipients(ctx, id)).toEqual({ SKIPPED: 4, SENDING: 1 })
    const left = { error: 'The contact is no longer subscribed', endedAt: expect.any(String) }
    for (const uuid of [unsubscribed, bounced, deleted]) expect(await readRecipient(uuid)).toMatchObject(left)
    expect(await readRecipient(merged)).toMatchObject({ error: 'The contact was merged into another' })
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
    expect(await claimRecipients(ctx, batch, batch.contactUuids)).toEqual({ isStopped: true, recipients: [] })
    expect(await countRecipients(ctx, id)).toEqual({})
  })

  test('whose claim had no response is claimed again, without counting an attempt', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    const former = batch.claim.tokens
    const [first] = await claimAll(batch)
    // As if the response were lost.
    Object.assign(batch.claim, { unsentToken: batch.claim.tokens[0], tokens: [...former, ...batch.claim.tokens] })
    expect(await recoverBatch(ctx.db, batch.claim, lost)).toBe(0)
    expect(await countRecipients(ctx, id)).toEqual({ WAITING: 2 })
    expect((await claimAll(await claim(batches[0]))).find((one) => one.id === first?.id)).toMatchObject({ attempts: 1 })
  })

  test('is not claimed by a statement that arrives after the release of the batch', async () => {
    const { id, batches } = await startCampaign(2)
    const frozen = await claim(batches[0])
    const late = { ...frozen, claim: { ...frozen.claim } }
    await recoverBatch(ctx.db, frozen.claim, lost)
    const later = await claim(batches[0])
    expect(await claimRecipients(ctx, late, late.contactUuids)).toEqual({ isStopped: true, recipients: [] })
    expect(await countRecipients(ctx, id)).toEqual({})
    expect(await claimAll(later)).toHaveLength(2)
  })
})

describe('an outcome', () => {
  test('is recorded once, and only with the token of the recipient', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    const recipients = await claimAll(batch)
    await record({ ...batch, claim: { ...batch.claim, tokens: [randomUUID()] } }, recipients)
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
      endedAt: expect.any(String),
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
    for (let round = 0; round < countRuns({ gate: 10, full: 25 }); round++) {
      const inRound = await createTestCtx(database.db)
      const campaign = await createTestCampaign(inRound, { confirmed: 4 })
      await sendCampaign(inRound, campaign.id)
      const whole = await listPendingWork(inRound)
      // Splits the batch into four batches of one recipient.
      await database.db.execute(sql`
        with old as (delete from campaign_batches where campaign_id = ${uuidOf(campaign.id)} returning *),
        split as (
          insert into campaign_batches (workspace_id, id, campaign_id, contact_ids)
          select workspace_id, uuidv7(), campaign_id, array[contact] from old, unnest(contact_ids) contact
          returning workspace_id, id)
        insert into work (workspace_id, id, kind) select workspace_id, id, 'CAMPAIGN_BATCH' from split`)
      await inRound.db.delete(work).where(and(eq(work.workspaceId, inRound.workspaceId), inArray(work.id, whole)))
      const rows = await database.db.select().from(campaignBatches).where(eq(campaignBatches.campaignId, campaign.id))
      const claimed = await Promise.all(rows.map((row) => claimTestBatch(inRound, uuidOf(row.id), workerId)))
      const finished = claimed.map((batch) => finishBatch(inRound, batch))
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
    expect(await finishBatch(ctx, batch)).toBe('retry')
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING' })
    expect(await listPendingWork(ctx)).toEqual(batches)
  })

  test('recovery waits for a claim of recipients that is being committed', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    await expireWorkerHeartbeat(database.db, workerId)
    const claiming = await openTransaction(database.db, (db) =>
      claimRecipients({ ...ctx, db }, batch, batch.contactUuids.slice(0, 1)),
    )
    const recovering = recoverOrphanedClaims(database.db)
    await waitUntilBlocked(database.db)
    await claiming.commit()
    await recovering
    // The token is not the one that recovery found: the next heartbeat recovers it.
    expect(await countRecipients(ctx, id)).toEqual({ SENDING: 1 })
    expect(await recoverOrphanedClaims(database.db)).toMatchObject({ mails: { CAMPAIGN: 1 } })
    const contactId = idOf('con', batch.contactUuids[0] ?? '')
    await recordRecipientOutcomes(ctx, batch, [{ contactId, status: 'SENT', error: null }])
    const other = await claim(batches[0], await createTestWorker(database.db))
    await record(other, await claimAll(other))
    expect(await finishBatch(ctx, other)).toBe('done')
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 2 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT' })
  })

  test('a batch that was released is a no-op', async () => {
    const { id, batches } = await startCampaign(2)
    const batch = await claim(batches[0])
    await releaseClaim(ctx, batch.claim, 'retry')
    expect(await finishBatch(ctx, batch)).toBe('done')
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
