import { expect, test } from 'vitest'
import { addSubscribers, createTestCampaign, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import { events } from '../db/schema/index.ts'
import { readStats } from './campaign-stats.ts'
import { readAudience } from './sending-report/read-audience.ts'
import { listCampaigns, readCampaign } from './campaigns.ts'
import { CampaignQuery, RecipientQuery } from './campaigns.schema.ts'
import { cancelCampaign } from './lifecycle.ts'
import { listRecipients } from './list-recipients.ts'
import { sendCampaign } from './send-campaign.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const templates = { html: 'h'.repeat(1_048_576), text: 't'.repeat(1_048_576) }

test('listings, statistics and recipients do not read the templates', async () => {
  const { id } = await createTestCampaign(ctx, templates)
  const statements = await recordStatements(database, ctx, async (ctx) => {
    const { data } = await listCampaigns(ctx, CampaignQuery.parse({}))
    expect(data.map((campaign) => Object.keys(campaign)).flat()).not.toEqual(expect.arrayContaining(['html']))
    expect(JSON.stringify(data).length).toBeLessThan(1_000)
    await readAudience(ctx, id)
    await readStats(ctx, id)
    await listRecipients(ctx, id, RecipientQuery.parse({}))
  })
  expect(statements.length).toBeGreaterThan(3)
  expect(statements.filter(({ text }) => /"html"|"text"|select \* from campaigns/.test(text))).toEqual([])
  expect(await readCampaign(ctx, id)).toMatchObject(templates)
})

test('events of campaigns do not contain the templates', async () => {
  const list = await createTestList(ctx)
  await addSubscribers(ctx, list.id, { count: 1 })
  const { id } = await createTestCampaign(ctx, { listId: list.id, ...templates })
  await sendCampaign(ctx, id)
  await cancelCampaign(ctx, id)
  const rows = await ctx.db.select().from(events)
  const ofCampaign = rows.filter(({ type }) => type.startsWith('campaign.'))
  expect(ofCampaign.map(({ type }) => type).toSorted()).toEqual(['campaign.canceled', 'campaign.sending'])
  for (const { data } of ofCampaign) expect(JSON.stringify(data).length).toBeLessThan(1_000)
})
