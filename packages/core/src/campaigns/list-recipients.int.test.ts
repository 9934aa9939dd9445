import { expect, test } from 'vitest'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { type CampaignId, idOf, newId } from '../kernel/ids.ts'
import { claimTestBatch } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestCampaign,
  createTestContact,
  createTestWorker,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { listRecipients } from './list-recipients.ts'
import { RecipientQuery } from './campaigns.schema.ts'
import { sendCampaign } from './send-campaign.ts'
import { type ClaimedBatch, claimRecipients, recordRecipientOutcomes } from './sending.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

async function start(confirmed: number) {
  const { id } = await createTestCampaign(ctx, { confirmed })
  await sendCampaign(ctx, id)
  const workerId = await createTestWorker(database.db)
  const batches: ClaimedBatch[] = []
  for (const uuid of await listPendingWork(ctx, 'campaigns')) {
    const batch = await claimTestBatch(ctx, uuid, workerId)
    batches.push(batch)
  }
  return { id, batches: batches.toSorted((a, b) => b.contactUuids.length - a.contactUuids.length) }
}

const list = (id: CampaignId, query: Record<string, string> = {}) =>
  listRecipients(ctx, id, RecipientQuery.parse(query))

async function readAll(id: CampaignId, query: Record<string, string>) {
  const contactIds: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof list>> = await list(id, { ...query, ...(cursor && { cursor }) })
    contactIds.push(...page.data.map(({ contactId }) => contactId))
    cursor = page.nextCursor
  }
  return contactIds
}

const uuidsToIds = (uuids: string[]) => uuids.map((uuid) => idOf('con', uuid)).toSorted()

test('lists claimed recipients with status, error and time, each once over all pages', async () => {
  const { id, batches } = await start(60)
  const [batch] = batches
  if (!batch) throw new Error('There is no batch')
  const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids.slice(0, 30))
  const outcomes = recipients.map((one, n) => ({
    contactId: one.id,
    status: n < 20 ? ('SENT' as const) : ('FAILED' as const),
    error: n < 20 ? null : '550 no',
  }))
  await recordRecipientOutcomes(ctx, batch, outcomes)
  const failed = await list(id, { status: 'FAILED' })
  expect(failed.data).toHaveLength(10)
  expect(failed.data[0]).toEqual({
    contactId: expect.stringMatching(/^con_/),
    email: expect.stringMatching(/^person-\d+@example\.com$/),
    status: 'FAILED',
    error: '550 no',
    createdAt: expect.stringMatching(/Z$/),
    endedAt: expect.stringMatching(/Z$/),
    openedAt: null,
    clickedAt: null,
    unsubscribedAt: null,
    bouncedAt: null,
    bounceClass: null,
    bounceCode: null,
    complainedAt: null,
  })
  for (const sort of ['createdAt', '-createdAt']) {
    for (const limit of ['1', '7', '30']) {
      const everyone = await readAll(id, { sort, limit })
      expect(everyone.toSorted()).toEqual(uuidsToIds(batch.contactUuids.slice(0, 30)))
      expect((await readAll(id, { sort, limit, status: 'SENT' })).length).toBe(20)
    }
  }
})

test('a cursor together with a contact, which has one page, is rejected', async () => {
  const { id } = await start(1)
  const query = RecipientQuery.parse({ contactId: newId('con'), cursor: 'x' })
  await expect(listRecipients(ctx, id, query)).rejects.toMatchObject({ issues: [{ path: 'cursor' }] })
})

test('lists pending recipients of several batches, each once, in both directions', async () => {
  const { id, batches } = await start(450)
  const [first, second] = batches
  if (!first || !second) throw new Error('There are no batches')
  const { recipients } = await claimRecipients(ctx, first, first.contactUuids.slice(0, 30))
  const [one, other] = [recipients.slice(0, 10), recipients.slice(10, 20)]
  const record = (group: typeof one, status: 'SENT' | 'WAITING', error: string | null) =>
    recordRecipientOutcomes(
      ctx,
      first,
      group.map((recipient) => ({ contactId: recipient.id, status, error })),
    )
  await record(one, 'SENT', null)
  await record(other, 'WAITING', '450 later')
  const sent = new Set(one.map((recipient) => recipient.id))
  const pending = uuidsToIds(batches.flatMap((batch) => batch.contactUuids)).filter((contactId) => !sent.has(contactId))
  for (const sort of ['createdAt', '-createdAt']) {
    for (const limit of ['100', '37']) {
      const found = await readAll(id, { status: 'PENDING', sort, limit })
      expect(found.toSorted()).toEqual(pending)
    }
  }
  const found = await list(id, { status: 'PENDING', contactId: other[0]?.id ?? '' })
  expect(found.data).toMatchObject([{ status: 'PENDING', error: '450 later', endedAt: null }])
})

test('finds one contact, also if it is not claimed yet, deleted or merged', async () => {
  const { id, batches } = await start(5)
  const [batch] = batches
  if (!batch) throw new Error('There is no batch')
  const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids.slice(0, 2))
  await recordRecipientOutcomes(
    ctx,
    batch,
    recipients.map((one) => ({ contactId: one.id, status: 'SENT', error: null })),
  )
  const [sent = newId('con'), deleted = newId('con'), unclaimed = newId('con')] = batch.contactUuids.map((uuid) =>
    idOf('con', uuid),
  )
  expect((await list(id, { contactId: sent })).data).toMatchObject([{ contactId: sent, status: 'SENT' }])
  expect((await list(id, { contactId: sent, status: 'FAILED' })).data).toEqual([])
  expect((await list(id, { contactId: unclaimed })).data).toMatchObject([
    { contactId: unclaimed, status: 'PENDING', endedAt: null, createdAt: expect.any(String) },
  ])
  await deleteContact(ctx, deleted)
  expect((await list(id, { contactId: deleted })).data).toMatchObject([
    { contactId: deleted, email: null, status: 'SENT' },
  ])
  const survivor = await createTestContact(ctx)
  expect((await list(id, { contactId: survivor.id })).data).toEqual([])
  await mergeContacts(ctx, survivor.id, { contactId: sent })
  expect((await list(id, { contactId: survivor.id })).data).toMatchObject([{ contactId: sent, status: 'SENT' }])
})
