import { eq, sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { type CampaignId, type ContactId, newId, uuidOf } from '../kernel/ids.ts'
import { unsubscribeUrl } from '../lists/subscription-links.ts'
import { campaignBatches, mails } from '../db/schema/index.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  addSubscribers,
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestList,
  createTestWebhook,
  listEventTypes,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { sendTestMail } from './campaign-mail.ts'
import { updateCampaign, readCampaign } from './campaigns.ts'
import { sendCampaign } from './send-campaign.ts'
import { unsubscribe } from '../operations/contacts/unsubscribe.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

async function readBatches(campaignId: CampaignId) {
  const rows = await ctx.db.select().from(campaignBatches).where(eq(campaignBatches.campaignId, campaignId))
  const batches = rows.map((row) => ({ uuid: uuidOf(row.id), contactUuids: row.contactIds }))
  return batches.toSorted((one, other) => other.contactUuids.length - one.contactUuids.length)
}

async function listAudience(campaignId: CampaignId): Promise<string[]> {
  return (await readBatches(campaignId)).flatMap(({ contactUuids }) => contactUuids).toSorted()
}

const uuids = (ids: ContactId[]) => ids.map(uuidOf).toSorted()

describe('sending', () => {
  test('snapshots the CONFIRMED subscribers in batches, with one job per batch', async () => {
    const list = await createTestList(ctx)
    const confirmed = await addSubscribers(ctx, list.id, { count: 450 })
    for (const status of ['PENDING', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] as const) {
      await addSubscribers(ctx, list.id, { count: 3, status, name: status.toLowerCase() })
    }
    await addSubscribers(ctx, (await createTestList(ctx)).id, { count: 5, name: 'elsewhere' })
    const campaign = await createTestCampaign(ctx, { listId: list.id })

    expect(await sendCampaign(ctx, campaign.id)).toEqual({ queued: 450, unseen: 0 })
    await addSubscribers(ctx, list.id, { count: 2, name: 'late' })
    expect(await listAudience(campaign.id)).toEqual(uuids(confirmed))
    const batches = await readBatches(campaign.id)
    expect(batches.map(({ contactUuids }) => contactUuids.length)).toEqual([200, 200, 50])
    expect(await listPendingWork(ctx, 'campaigns')).toEqual(batches.map(({ uuid }) => uuid).toSorted())
    expect(await readCampaign(ctx, campaign.id)).toMatchObject({
      status: 'SENDING',
      queued: 450,
      sentAt: expect.any(String),
      completedAt: null,
    })
    expect(await listEventTypes(ctx)).toEqual(['campaign.sending'])
  })

  test.each([1, 199, 200, 201, 400, 401])('to %d subscribers creates no empty batch and none above 200', async (n) => {
    const campaign = await createTestCampaign(ctx, { confirmed: n })
    expect(await sendCampaign(ctx, campaign.id)).toEqual({ queued: n, unseen: 0 })
    const sizes = (await readBatches(campaign.id)).map(({ contactUuids }) => contactUuids.length)
    expect(sizes).toHaveLength(Math.ceil(n / 200))
    expect(new Set(await listAudience(campaign.id)).size).toBe(n)
  })

  test('50 times concurrently succeeds once and conflicts 49 times', async () => {
    const campaign = await createTestCampaign(ctx, { confirmed: 300 })
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => sendCampaign(ctx, campaign.id)))
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
    expect(refused).toHaveLength(49)
    for (const error of refused) {
      expect(error).toMatchObject({
        code: 'wrong_state',
        message: 'Only a DRAFT can be sent: this campaign is SENDING',
      })
    }
    expect(await listAudience(campaign.id)).toHaveLength(300)
    expect(await listPendingWork(ctx, 'campaigns')).toHaveLength(2)
    expect(await listEventTypes(ctx)).toEqual(['campaign.sending'])
  })

  test('to a list without confirmed subscribers is invalid and keeps the DRAFT', async () => {
    const list = await createTestList(ctx)
    await addSubscribers(ctx, list.id, { count: 2, status: 'PENDING' })
    const campaign = await createTestCampaign(ctx, { listId: list.id })
    const refusal = { code: 'no_recipients', message: 'List has no subscribed recipients', issues: undefined }
    await expect(sendCampaign(ctx, campaign.id)).rejects.toMatchObject(refusal)
    expect(await readCampaign(ctx, campaign.id)).toMatchObject({ status: 'DRAFT', sentAt: null, queued: 0 })
    expect(await listEventTypes(ctx)).toEqual([])
    await addSubscribers(ctx, list.id, { count: 1, name: 'first' })
    expect(await sendCampaign(ctx, campaign.id)).toEqual({ queued: 1, unseen: 0 })
  })

  test('writes nothing if its transaction is rolled back', async () => {
    const campaign = await createTestCampaign(ctx, { confirmed: 3 })
    await createTestWebhook(ctx, { eventTypes: ['*'] })
    // The last statement of the transaction fails.
    await database.db.execute(
      sql`alter table events add constraint no_sending check (type <> 'campaign.sending') not valid`,
    )
    await expect(sendCampaign(ctx, campaign.id)).rejects.toThrow()
    await database.db.execute(sql`alter table events drop constraint no_sending`)
    expect(await readCampaign(ctx, campaign.id)).toMatchObject({ status: 'DRAFT', queued: 0 })
    expect(await readBatches(campaign.id)).toEqual([])
    expect(await listPendingWork(ctx)).toEqual([])
  })

  test('queues the subscribers of its snapshot during a concurrent unsubscribe', async () => {
    const list = await createTestList(ctx)
    const [first = newId('con'), ...others] = await addSubscribers(ctx, list.id, { count: 30 })
    const campaign = await createTestCampaign(ctx, { listId: list.id })
    const link = { listId: list.id, contactId: first, email: 'person-1@example.com' }
    const token = new URL(unsubscribeUrl(ctx, link)).searchParams.get('token') ?? ''
    const leaving = await openTransaction(database.db, (db) => unsubscribe({ ...ctx, db }, token))
    const { queued } = await sendCampaign(ctx, campaign.id)
    await leaving.commit()
    expect(queued).toBe(30)
    expect(await listAudience(campaign.id)).toEqual(uuids([first, ...others]))
  })

  test('makes a concurrent change of the campaign a conflict', async () => {
    const campaign = await createTestCampaign(ctx, { confirmed: 1 })
    const sending = await openTransaction(database.db, (db) => sendCampaign({ ...ctx, db }, campaign.id))
    const changing = updateCampaign(ctx, campaign.id, { subject: 'Too late' })
    await waitUntilBlocked(database.db)
    const message = 'Only a DRAFT can be changed: this campaign is SENDING'
    const [refusal] = await Promise.all([changing.catch((error: unknown) => error), sending.commit()])
    expect(refusal).toMatchObject({ code: 'wrong_state', message })
    expect((await readCampaign(ctx, campaign.id)).subject).toBe(campaign.subject)
  })

  test('is a conflict if the templates change while they are checked', async () => {
    const campaign = await createTestCampaign(ctx, { confirmed: 1 })
    const changing = await openTransaction(database.db, (db) =>
      updateCampaign({ ...ctx, db }, campaign.id, { html: 'Unchecked' }),
    )
    const sending = sendCampaign(ctx, campaign.id)
    await waitUntilBlocked(database.db)
    const [refusal] = await Promise.all([sending.catch((error: unknown) => error), changing.commit()])
    const message = 'The campaign was changed while it was checked'
    expect(refusal).toMatchObject({ code: 'wrong_state', message })
    expect((await readCampaign(ctx, campaign.id)).status).toBe('DRAFT')
  })

  test('a campaign of another workspace is not found', async () => {
    const campaign = await createTestCampaign(ctx, { confirmed: 1 })
    const otherCtx = await createTestCtx(database.db)
    const notFound = { code: 'not_found', message: 'Campaign not found' }
    await expect(sendCampaign(otherCtx, campaign.id)).rejects.toMatchObject(notFound)
    await expect(updateCampaign(otherCtx, campaign.id, { name: 'Mine' })).rejects.toMatchObject(notFound)
    await expect(sendTestMail(otherCtx, campaign.id, { email: 'a@example.com' })).rejects.toMatchObject(notFound)
  })
})

describe('a campaign', () => {
  test('without html and text gets a plain HTML template', async () => {
    const campaign = await createTestCampaign(ctx, { confirmed: 1 })
    expect(campaign).toMatchObject({ status: 'DRAFT', html: expect.stringContaining('campaign.subject'), text: null })
    expect(await createTestCampaign(ctx, { text: 'Hello' })).toMatchObject({ html: null, text: 'Hello' })
  })

  test('with an unknown list or a list of another workspace is invalid', async () => {
    const others = await createTestList(await createTestCtx(database.db))
    const campaign = await createTestCampaign(ctx)
    const refusal = { code: 'validation_error', issues: [{ path: 'listId', message: 'List not found' }] }
    for (const listId of [others.id, newId('lst')]) {
      await expect(createTestCampaign(ctx, { listId })).rejects.toMatchObject(refusal)
      await expect(updateCampaign(ctx, campaign.id, { listId })).rejects.toMatchObject(refusal)
    }
  })

  test('cannot be changed after it was sent', async () => {
    const campaign = await createTestCampaign(ctx, { confirmed: 1 })
    await updateCampaign(ctx, campaign.id, { subject: 'Better' })
    await sendCampaign(ctx, campaign.id)
    await expect(updateCampaign(ctx, campaign.id, { subject: 'Best' })).rejects.toMatchObject({ code: 'wrong_state' })
    expect(await readCampaign(ctx, campaign.id)).toMatchObject({ subject: 'Better' })
  })
})

describe('a test mail', () => {
  test('can be sent in any status of the campaign and does not change it', async () => {
    const campaign = await createTestCampaign(ctx, { confirmed: 1 })
    const contact = await createTestContact(ctx)
    expect(await sendTestMail(ctx, campaign.id, { email: 'me@example.com' })).toEqual({ queued: 1 })
    await sendCampaign(ctx, campaign.id)
    expect(await sendTestMail(ctx, campaign.id, { email: 'me@example.com', contactId: contact.id })).toEqual({
      queued: 1,
    })
    const rows = await ctx.db
      .select()
      .from(mails)
      .where(eq(mails.workspaceId, ctx.workspaceId))
      .orderBy(mails.createdAt)
    const of = { campaignId: campaign.id, listId: campaign.listId }
    expect(rows.map(({ kind, toAddress, data }) => ({ kind, toAddress, data }))).toEqual([
      { kind: 'CAMPAIGN_TEST', toAddress: 'me@example.com', data: { ...of, contactId: null } },
      { kind: 'CAMPAIGN_TEST', toAddress: 'me@example.com', data: { ...of, contactId: contact.id } },
    ])
    expect(await listPendingWork(ctx, 'mail')).toHaveLength(2)
    expect(await readCampaign(ctx, campaign.id)).toMatchObject({ queued: 1 })
  })

  test('with a contact of another workspace is invalid', async () => {
    const campaign = await createTestCampaign(ctx)
    const { id } = await createTestContact(await createTestCtx(database.db))
    const refusal = { code: 'validation_error', issues: [{ path: 'contactId', message: 'Contact not found' }] }
    const asking = sendTestMail(ctx, campaign.id, { email: 'me@example.com', contactId: id })
    await expect(asking).rejects.toMatchObject(refusal)
    expect(await listPendingWork(ctx)).toEqual([])
  })
})
