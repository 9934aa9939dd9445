import { expect, test } from 'vitest'
import { mergeContacts } from '../operations/merge-contacts.ts'
import { type CampaignId, idOf, newId } from '../kernel/ids.ts'
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
import { claimBatch, type ClaimedBatch, claimRecipients, recordRecipientOutcomes } from './sending.ts'
import { deleteContact } from '../operations/delete-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

async function start(confirmed: number) {
  const { id } = await createTestCampaign(ctx, { confirmed })
  await sendCampaign(ctx, id)
  const workerId = await createTestWorker(database.db)
  const batches: ClaimedBatch[] = []
  for (const uuid of await listPendingWork(ctx, 'campaigns')) {
    const batch = await claimBatch(ctx, uuid, workerId)
    if (batch) batches.push(batch)
  }
  return { id, batches: batches.toSorted((a, b) => b.contactUuids.length - a.contactUuids.length) }
}

const list = (id: CampaignId, query: Record<string, string> = {}) =>
  listRecipients(ctx, id, RecipientQuery.parse(query))

async function readAll(id: CampaignId, query: Record<string, string>) {
  const people: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof list>> = await list(id, { ...query, ...(cursor && { cursor }) })
    people.push(...page.data.map(({ contactId }) => contactId))
    cursor = page.nextCursor
  }
  return people
}

const uuidsToIds = (uuids: string[]) => uuids.map((uuid) => idOf('con', uuid)).toSorted()

test('those whose turn has come are told with status, reason and time; by status or all, each once, page by page', async () => {
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
    settledAt: expect.stringMatching(/Z$/),
    openedAt: null,
    clickedAt: null,
    unsubscribedAt: null,
    bouncedAt: null,
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

test('who is pending is told too, over many batches, each once, in both directions', async () => {
  const { id, batches } = await start(450)
  const [first, second] = batches
  if (!first || !second) throw new Error('There are no batches')
  const { recipients } = await claimRecipients(ctx, first, first.contactUuids.slice(0, 30))
  const [one, other] = [recipients.slice(0, 10), recipients.slice(10, 20)]
  const settle = (people: typeof one, status: 'SENT' | 'WAITING', error: string | null) =>
    recordRecipientOutcomes(
      ctx,
      first,
      people.map((person) => ({ contactId: person.id, status, error })),
    )
  await settle(one, 'SENT', null)
  await settle(other, 'WAITING', '450 later')
  const sent = new Set(one.map((person) => person.id))
  const pending = uuidsToIds(batches.flatMap((batch) => batch.contactUuids)).filter((contactId) => !sent.has(contactId))
  for (const sort of ['createdAt', '-createdAt']) {
    for (const limit of ['100', '37']) {
      const found = await readAll(id, { status: 'PENDING', sort, limit })
      expect(found.toSorted()).toEqual(pending)
    }
  }
  const whole = await list(id, { status: 'PENDING', contactId: other[0]?.id ?? '' })
  expect(whole.data).toMatchObject([{ status: 'PENDING', error: '450 later', settledAt: null }])
})

test('one contact: did she get it? Also when her turn has not come, she is gone, or was merged into another since', async () => {
  const { id, batches } = await start(5)
  const [batch] = batches
  if (!batch) throw new Error('There is no batch')
  const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids.slice(0, 2))
  await recordRecipientOutcomes(
    ctx,
    batch,
    recipients.map((one) => ({ contactId: one.id, status: 'SENT', error: null })),
  )
  const [sent = newId('con'), gone = newId('con'), waits = newId('con')] = batch.contactUuids.map((uuid) =>
    idOf('con', uuid),
  )
  expect((await list(id, { contactId: sent })).data).toMatchObject([{ contactId: sent, status: 'SENT' }])
  expect((await list(id, { contactId: sent, status: 'FAILED' })).data).toEqual([])
  expect((await list(id, { contactId: waits })).data).toMatchObject([
    { contactId: waits, status: 'PENDING', settledAt: null, createdAt: expect.any(String) },
  ])
  await deleteContact(ctx, gone)
  expect((await list(id, { contactId: gone })).data).toMatchObject([{ contactId: gone, email: null, status: 'SENT' }])
  const survivor = await createTestContact(ctx)
  expect((await list(id, { contactId: survivor.id })).data).toEqual([])
  await mergeContacts(ctx, survivor.id, { contactId: sent })
  expect((await list(id, { contactId: survivor.id })).data).toMatchObject([{ contactId: sent, status: 'SENT' }])
})
