import {
  addSubscribers,
  createTestCampaign,
  createTestContact,
  createTestCtx,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { eq, inArray, sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { campaignBatches, campaigns, contacts } from '../db/schema/index.ts'
import { type CampaignId, type ContactId, idOf, type ListId, type SegmentId } from '../kernel/ids.ts'
import { deleteList } from '../lists/delete-list.ts'
import { createList } from '../lists/lists.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import type { Filter } from '../segments/filter.schema.ts'
import { createSegment, updateSegment } from '../segments/segments.ts'
import { readAudience } from './sending-report/read-audience.ts'
import { readCampaign, updateCampaign } from './campaigns.ts'
import { sendCampaign } from './send-campaign.ts'
import { reportSending, sendReviewedCampaign } from './sending-report/report-sending.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const isVip: Filter = { tags: { has: 'vip' } }
/** The subscribers of the list by status, and two contacts who are not on it. One of each two is in the segment. */
let listId: ListId
let segmentId: SegmentId
let confirmed: ContactId[]
beforeEach(async () => {
  listId = (await createList(ctx, { name: 'News', description: '', doubleOptIn: true, publicSignup: 'OPEN' })).id
  segmentId = (await createSegment(ctx, { name: 'VIP', filter: isVip })).id
  confirmed = await addSubscribers(ctx, listId, { count: 4 })
  const others = await Promise.all(
    (['PENDING', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] as const).map((status) =>
      addSubscribers(ctx, listId, { count: 2, status, name: status.toLowerCase() }),
    ),
  )
  const outside = [(await createTestContact(ctx)).id, (await createTestContact(ctx)).id]
  const vips = [...confirmed, ...others.flat(), ...outside].filter((_id, index) => index % 2 === 0)
  await ctx.db
    .update(contacts)
    .set({ tags: ['vip'] })
    .where(inArray(contacts.id, vips))
})

const createDraft = async () => (await createTestCampaign(ctx, { listId, segmentId })).id
const confirmedVips = () => confirmed.filter((_id, index) => index % 2 === 0).toSorted()

async function recipientsOf(id: CampaignId): Promise<ContactId[]> {
  const batches = await ctx.db.select().from(campaignBatches).where(eq(campaignBatches.campaignId, id))
  return batches.flatMap(({ contactIds }) => contactIds.map((uuid) => idOf('con', uuid))).toSorted()
}

test('a campaign is sent to the confirmed subscribers of the list within the segment', async () => {
  const id = await createDraft()
  expect(await readAudience(ctx, id)).toEqual({
    willReceive: 2,
    excluded: { pending: 2, unsubscribed: 2, bounced: 2, complained: 2, outsideSegment: 2 },
    unseen: 0,
  })
  expect(await sendCampaign(ctx, id)).toEqual({ queued: 2, unseen: 0 })
  expect(await recipientsOf(id)).toEqual(confirmedVips())
})

test.each([
  ['PENDING', { list: true, status: 'PENDING' }],
  ['UNSUBSCRIBED', { field: 'emailSubscribedStatus', eq: 'UNSUBSCRIBED' }],
  ['not SUBSCRIBED', { not: { field: 'emailSubscribedStatus', eq: 'SUBSCRIBED' } }],
  ['outside the list', { not: { list: true } }],
])('a segment of contacts who are %s makes the audience empty, never larger', async (_who, input) => {
  const filter = JSON.parse(JSON.stringify(input), (key, value: unknown) => (key === 'list' ? listId : value)) as Filter
  await updateSegment(ctx, segmentId, { filter })
  const id = await createDraft()
  expect(await readAudience(ctx, id)).toMatchObject({ willReceive: 0, excluded: { outsideSegment: 4 } })
  await expect(sendCampaign(ctx, id)).rejects.toMatchObject({
    code: 'no_recipients',
    message: 'List has no subscribed recipients',
  })
  expect([(await readCampaign(ctx, id)).status, await recipientsOf(id)]).toEqual(['DRAFT', []])
  expect((await reportSending(ctx, id)).confirmationToken).toBeNull()
})

test('a segment that matches everybody sends to the list, as no segment does', async () => {
  await updateSegment(ctx, segmentId, { filter: { any: [isVip, { not: isVip }] } })
  const narrowed = await createDraft()
  const whole = await createDraft()
  await updateCampaign(ctx, whole, { segmentId: null })
  for (const id of [narrowed, whole]) {
    expect(await sendCampaign(ctx, id)).toEqual({ queued: 4, unseen: 0 })
    expect(await recipientsOf(id)).toEqual(confirmed.toSorted())
  }
})

test('a change of the filter or of the segment makes the token of a report void', async () => {
  const id = await createDraft()
  const report = async () => (await reportSending(ctx, id)).confirmationToken ?? ''
  const other = await createSegment(ctx, { name: 'VIP', filter: isVip })
  const changes = [
    () => updateSegment(ctx, segmentId, { filter: { all: [isVip] } }),
    () => updateCampaign(ctx, id, { segmentId: other.id }),
    () => updateCampaign(ctx, id, { segmentId: null }),
  ]
  for (const change of changes) {
    const confirmationToken = await report()
    await change()
    await expect(sendReviewedCampaign(ctx, id, { confirmationToken })).rejects.toMatchObject({
      code: 'precondition_failed',
    })
  }
  expect(await recipientsOf(id)).toEqual([])
})

test('a token of a report stays valid when its segment gets a new name', async () => {
  const id = await createDraft()
  const report = await reportSending(ctx, id)
  expect(report).toMatchObject({ segment: { id: segmentId, name: 'VIP' }, willReceive: 2 })
  await updateSegment(ctx, segmentId, { name: 'Very important' })
  const { confirmationToken } = report
  expect(await sendReviewedCampaign(ctx, id, { confirmationToken: confirmationToken ?? '' })).toEqual({
    queued: 2,
    unseen: 0,
  })
})

test('a change of the segment after sending changes no recipient', async () => {
  const id = await createDraft()
  await sendCampaign(ctx, id)
  await updateSegment(ctx, segmentId, { filter: { not: isVip } })
  await ctx.db.update(contacts).set({ tags: [] }).where(eq(contacts.workspaceId, ctx.workspaceId))
  expect(await recipientsOf(id)).toEqual(confirmedVips())
})

test('a campaign whose segment refers to a deleted list is not sent to anybody', async () => {
  const other = await createList(ctx, { name: 'Other', description: '', doubleOptIn: true, publicSignup: 'OPEN' })
  await updateSegment(ctx, segmentId, { filter: { not: { list: other.id } } })
  const id = await createDraft()
  await deleteList(ctx, other.id)
  const isBroken = { code: 'wrong_state', message: expect.stringContaining('The segment "VIP" must be changed') }
  await expect(readAudience(ctx, id)).rejects.toMatchObject(isBroken)
  await expect(reportSending(ctx, id)).rejects.toMatchObject(isBroken)
  await expect(sendCampaign(ctx, id)).rejects.toMatchObject(isBroken)
  expect([(await readCampaign(ctx, id)).status, await recipientsOf(id)]).toEqual(['DRAFT', []])
})

test('a contact also did what the contacts did that were merged into it', async () => {
  const [survivor, merged, both] = await addSubscribers(ctx, listId, { count: 3, name: 'merged' })
  if (!survivor || !merged || !both) throw new Error('Missing subscribers')
  const earlier = await createTestCampaign(ctx, { listId })
  await sendCampaign(ctx, earlier.id)
  await ctx.db.execute(sql`
    insert into campaign_recipients (workspace_id, campaign_id, contact_id, batch_id, status, ended_at, opened_at)
    select b.workspace_id, b.campaign_id, c, b.id, 'SENT', now(), now()
    from campaign_batches b cross join unnest(b.contact_ids) as c
    where b.campaign_id = (select id from campaigns where ${eq(campaigns.id, earlier.id)})
      and c = (select id from contacts where ${eq(contacts.id, merged)})`)
  await mergeContacts(ctx, both, { contactId: merged })
  await mergeContacts(ctx, survivor, { contactId: both })
  await updateSegment(ctx, segmentId, { filter: { campaign: earlier.id, did: 'open', within: '1h' } })
  const id = await createDraft()
  expect(await sendCampaign(ctx, id)).toEqual({ queued: 1, unseen: 0 })
  expect(await recipientsOf(id)).toEqual([survivor])
})

test('a segment of another workspace narrows nothing: the draft cannot have it', async () => {
  const other = await createTestCtx(database.db)
  const foreign = await createSegment(other, { name: 'VIP', filter: isVip })
  const id = await createDraft()
  await expect(updateCampaign(ctx, id, { segmentId: foreign.id })).rejects.toMatchObject({
    issues: [{ path: 'segmentId', message: 'Segment not found' }],
  })
})
