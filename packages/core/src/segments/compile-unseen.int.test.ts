/** `did` and `not` when what some contacts did would not have been recorded. */
import { sql } from 'drizzle-orm'
import { addSubscribers, createTestCampaign, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { previewFilter } from '../contacts/listing/preview-filter.ts'
import { sendCampaign } from '../campaigns/send-campaign.ts'
import { readAudience } from '../campaigns/sending-report/read-audience.ts'
import { type CampaignId, type ContactId, type ListId, uuidOf } from '../kernel/ids.ts'
import { setTrackingConsent } from '../operations/contacts/tracking-consent.ts'
import type { Filter } from './filter.schema.ts'
import { createSegment } from './segments.ts'

const ctx = useTestCtx(useTestDatabase())

let campaign: CampaignId
let listId: ListId
/** Who opened, who was seen and did not, whose mail was anonymous, who was sent none, and who denied later. */
let [opened, idle, anonymous, unsent, denying]: ContactId[] = []
beforeEach(async () => {
  listId = (await createTestList(ctx)).id
  ;[opened, idle, anonymous, unsent, denying] = await addSubscribers(ctx, listId, { count: 5 })
  campaign = (await createTestCampaign(ctx, { listId, trackOpens: true })).id
  const mails = [
    [opened, true, true],
    [idle, true, false],
    [anonymous, false, false],
    [denying, true, false],
  ] as const
  for (const [contactId, isTracked, hasOpened] of mails)
    await ctx.db.execute(sql`
      insert into campaign_recipients (workspace_id, campaign_id, contact_id, batch_id, status, ended_at, opens_tracked, opened_at)
      values (${uuidOf(ctx.workspaceId)}, ${uuidOf(campaign)}, ${uuidOf(contactId as ContactId)}, uuidv7(), 'SENT', now(),
        ${isTracked}, case when ${hasOpened} then now() end)`)
  await setTrackingConsent(ctx, denying as ContactId, { opens: 'DENIED' })
})

async function find(filter: Filter) {
  const { sample, count, unseen } = await previewFilter(ctx, filter)
  expect(sample).toHaveLength(count)
  return { ids: sample.map(({ id }) => id).toSorted(), unseen }
}
const ids = (...some: (ContactId | undefined)[]) => some.map(String).toSorted()

test('`did` matches what was recorded, `not` only contacts who would have been seen', async () => {
  const did: Filter = { campaign, did: 'open' }
  expect(await find(did)).toEqual({ ids: ids(opened), unseen: 0 })
  expect(await find({ not: did })).toEqual({ ids: ids(idle, unsent), unseen: 2 })
  expect(await find({ not: { not: did } })).toEqual({ ids: ids(opened), unseen: 0 })
  expect(await find({ not: { any: [did, { campaign, did: 'receive' }] } })).toEqual({ ids: ids(unsent), unseen: 0 })
})

test('with any campaign, the mails of the period count', async () => {
  const lately: Filter = { not: { campaign: 'any', did: 'open', within: '2d' } }
  expect(await find(lately)).toEqual({ ids: ids(idle, unsent), unseen: 2 })
  await ctx.db.execute(sql`
    update campaign_recipients set created_at = now() - interval '3 days' where workspace_id = ${uuidOf(ctx.workspaceId)}`)
  expect((await find(lately)).ids).toEqual(ids(idle, unsent, anonymous, denying))
})

test('the audience and `send` say how many the segment cannot see', async () => {
  const segment = await createSegment(ctx, { name: 'Idle', filter: { not: { campaign, did: 'open' } } })
  await addSubscribers(ctx, listId, { count: 1, name: 'new' })
  const next = await createTestCampaign(ctx, { listId, segmentId: segment.id })
  expect(await readAudience(ctx, next.id)).toMatchObject({ willReceive: 3, excluded: { outsideSegment: 3 }, unseen: 2 })
  expect(await sendCampaign(ctx, next.id)).toEqual({ queued: 3, unseen: 2 })
})
