import {
  createTestContact,
  createTestList,
  createTestWebhook,
  createTestWorker,
} from '@rapport/testing/fixtures/factories.ts'
import { readEventCounts } from '@rapport/testing/fixtures/event-counts.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { signUp } from '../../auth/login.ts'
import { recordEngagement } from '../../campaigns/engagement.ts'
import { events, webhooks } from '../../db/schema/index.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { addSubscriber } from '../../lists/subscribers.ts'
import { inTransaction } from '../../request/context.ts'
import { createRegistry } from '../../runtime/metrics.ts'
import { registerActivityMetrics, registerRecordMetrics } from './business-metrics.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

/** Returns a function that reads the series of a metric: the value by its label. */
function openMetrics() {
  const registry = createRegistry()
  registerActivityMetrics(registry, database.db)
  registerRecordMetrics(registry, database.db)
  return async (name: string) => {
    const metric = await registry.getSingleMetric(name)?.get()
    const values: Record<string, number> = {}
    for (const { labels, value } of metric?.values ?? []) values[String(Object.values(labels)[0])] = value
    return values
  }
}

/** Only this process writes to the database of this file, so its metrics count every event. */
async function expectEachEventCounted(): Promise<void> {
  const rows = await ctx.db
    .select({ type: events.type, count: sql<number>`count(*)::int` })
    .from(events)
    .groupBy(events.type)
  const recorded = Object.fromEntries(rows.map(({ type, count }) => [type, count]))
  expect(await readEventCounts(database.db)).toEqual(recorded)
}

test('an event is counted once its transaction has committed', async () => {
  const countCreated = async () => (await readEventCounts(database.db))['contact.created'] ?? 0
  const before = await countCreated()
  await inTransaction(ctx, async (ctx) => {
    await createTestContact(ctx)
    await createTestContact(ctx)
    expect(await countCreated()).toBe(before)
  })
  expect(await countCreated()).toBe(before + 2)
  await expectEachEventCounted()
})

test('contacts that are created concurrently, in one statement, count one event each', async () => {
  const emails = ['ada@example.com', 'grace@example.com', 'mary@example.com', 'ada@example.com']
  const created = await Promise.allSettled(emails.map((email) => createTestContact(ctx, { email })))
  expect(created.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected'])
  await expectEachEventCounted()
})

test('events of a rolled-back transaction or savepoint do not count', async () => {
  const fail = (on: typeof ctx) =>
    inTransaction(on, async (ctx) => {
      await createTestContact(ctx)
      throw new Error('roll back')
    })
  await expect(fail(ctx)).rejects.toThrow('roll back')
  await inTransaction(ctx, async (ctx) => {
    await createTestContact(ctx)
    await expect(fail(ctx)).rejects.toThrow('roll back')
    await createTestContact(ctx)
  })
  expect(await ctx.db.$count(events, eq(events.workspaceId, ctx.workspaceId))).toBe(2)
  await expectEachEventCounted()
})

test('an opened mail counts once per recipient', async () => {
  const campaign = await startTestCampaign(ctx, 2)
  const batch = await claimTestBatch(ctx, campaign.batches[0], await createTestWorker(ctx.db))
  const { recipients } = await sendTestBatch(ctx, batch)
  const read = openMetrics()
  const before = await read('rapport_campaign_engagements_total')
  for (const { id } of [...recipients, ...recipients]) {
    await recordEngagement(ctx, { campaignId: campaign.id, contactId: id }, 'opened')
  }
  const { id: otherId } = await createTestContact(ctx)
  await recordEngagement(ctx, { campaignId: campaign.id, contactId: otherId }, 'clicked')
  const after = await read('rapport_campaign_engagements_total')
  expect(after).toEqual({ ...before, opened: (before['opened'] ?? 0) + recipients.length })
  expect(recipients).toHaveLength(2)
})

test('a user who signs up is counted, an address that is taken is not', async () => {
  const read = openMetrics()
  const before = await read('rapport_users_created_total')
  const person = { email: 'ada@example.com', password: 'a long and secret sentence', name: 'Ada' }
  const signedUp = await Promise.allSettled([signUp(ctx, person), signUp(ctx, person)])
  expect(signedUp.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const { sign_up = 0, invite } = before
  expect(await read('rapport_users_created_total')).toEqual({ sign_up: sign_up + 1, invite })
})

test('every type of event and engagement starts at zero', async () => {
  const read = openMetrics()
  expect(Object.keys(await read('rapport_events_total'))).toContain('mail.complained')
  expect(Object.keys(await read('rapport_campaign_engagements_total')).toSorted()).toEqual([
    'bounced',
    'clicked',
    'complained',
    'opened',
    'unsubscribed',
  ])
})

test('the records of all workspaces are counted by kind', async () => {
  const before = await openMetrics()('rapport_records')
  const { id } = await createTestWebhook(ctx)
  await createTestWebhook(ctx)
  await ctx.db.update(webhooks).set({ enabled: false }).where(eq(webhooks.id, id))
  const { id: contactId } = await createTestContact(ctx)
  const lists = [await createTestList(ctx), await createTestList(ctx)]
  for (const [index, list] of lists.entries())
    await addSubscriber(ctx, list.id, { contactId, status: index === 0 ? 'CONFIRMED' : 'PENDING' })
  const after = await openMetrics()('rapport_records')
  const added = Object.entries(after).map(([kind, count]) => [kind, count - (before[kind] ?? 0)])
  expect(Object.fromEntries(added)).toEqual({
    workspaces: 0,
    users: 0,
    contacts: 1,
    confirmed_subscriptions: 1,
    enabled_webhooks: 1,
  })
})

test('more than 10,000 records are estimated, so that a scrape stays fast', async () => {
  await ctx.db.execute(sql`
    insert into contacts (workspace_id, id, email)
    select ${uuidOf(ctx.workspaceId)}::uuid, uuidv7(), 'person' || n || '@example.com' from generate_series(1, 20000) n`)
  await ctx.db.execute(sql`analyze contacts`)
  const { contacts } = await openMetrics()('rapport_records')
  expect(contacts).toBeGreaterThan(19_000)
  expect(contacts).toBeLessThan(22_000)
})
