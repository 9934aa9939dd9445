import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { findOrCreateContact } from '../contacts/update-contact.ts'
import { inTransaction } from '../request/context.ts'
import { uuidOf, type WebhookId } from '../kernel/ids.ts'
import { deliveries, events, webhooks } from '../db/schema/index.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  createTestContact,
  createTestCtx,
  createTestWebhook,
  listEventTypes,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

async function webhooksWithDelivery(): Promise<string[]> {
  const rows = await ctx.db.select().from(deliveries).where(eq(deliveries.workspaceId, ctx.workspaceId))
  expect(await listPendingWork(ctx)).toHaveLength(rows.length)
  return rows.map((row) => row.webhookId).toSorted()
}

const disable = (id: WebhookId) => ctx.db.update(webhooks).set({ enabled: false }).where(eq(webhooks.id, id))

test('an event has one delivery for each enabled webhook of its workspace that wants the type, and work for each', async () => {
  const named = await createTestWebhook(ctx, { eventTypes: ['deal.created', 'contact.created'] })
  const both = await createTestWebhook(ctx, { eventTypes: ['*', 'contact.created'] })
  const all = await createTestWebhook(ctx, { eventTypes: ['*'] })
  await createTestWebhook(ctx, { eventTypes: ['contact.updated', 'campaign.sent'] })
  const disabled = await createTestWebhook(ctx)
  await disable(disabled.id)
  await createTestWebhook(await createTestCtx(database.db), { eventTypes: ['*'] })

  await createTestContact(ctx)
  expect(await webhooksWithDelivery()).toEqual([named.id, both.id, all.id].toSorted())
})

test('where nobody listens, the event is recorded and nothing is to be done', async () => {
  await createTestContact(ctx)
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
  expect(await webhooksWithDelivery()).toEqual([])
})

test('a change that is rolled back leaves no event, no delivery and no work', async () => {
  await createTestWebhook(ctx)
  const rolledBack = inTransaction(ctx, async (ctx) => {
    await createTestContact(ctx)
    throw new Error('changed my mind')
  })
  await expect(rolledBack).rejects.toThrow('changed my mind')
  await createTestContact(ctx, { email: 'ada@example.com' })
  await expect(createTestContact(ctx, { email: 'ADA@example.com' })).rejects.toMatchObject({ code: 'conflict' })
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
  expect(await webhooksWithDelivery()).toHaveLength(1)
})

test('what is delivered is what was subscribed at that instant: later changes of a webhook change nothing', async () => {
  const before = await createTestWebhook(ctx)
  await createTestContact(ctx)
  await disable(before.id)
  await createTestWebhook(ctx)
  expect(await webhooksWithDelivery()).toEqual([before.id])
})

test('an event holds the record as the API shows it, in its order', async () => {
  const contact = await createTestContact(ctx, { firstName: 'Ada "the first" \\ é 🦉' })
  const [event] = await ctx.db.select().from(events).where(eq(events.workspaceId, ctx.workspaceId))
  expect(JSON.stringify(event?.data)).toBe(JSON.stringify(contact))
})

test('a stranger who adds nothing new is no event', async () => {
  const ada = { email: 'ada@example.com', firstName: 'Ada', lastName: '', source: 'subscription' }
  await findOrCreateContact(ctx, ada)
  await findOrCreateContact(ctx, { ...ada, firstName: 'Augusta' })
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
  await findOrCreateContact(ctx, { ...ada, lastName: 'Lovelace' })
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'contact.updated'])
})

test('a webhook that is deleted at the same moment fails nobody else', async () => {
  const webhook = await createTestWebhook(ctx)
  const deleting = await openTransaction(ctx.db, (db) => db.delete(webhooks).where(eq(webhooks.id, webhook.id)))
  const creating = createTestContact(ctx, { email: 'ada@example.com' })
  await waitUntilBlocked(database.db)
  await Promise.all([deleting.commit(), creating])
  expect(await webhooksWithDelivery()).toEqual([])
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
})

test('events of one workspace never reach another, even by a webhook of the same id', async () => {
  const other = await createTestCtx(database.db)
  const webhook = await createTestWebhook(other)
  await database.db.execute(sql`
    insert into webhooks select (jsonb_populate_record(w, jsonb_build_object('workspace_id',
      ${uuidOf(ctx.workspaceId)}::text, 'event_types', array['deal.won']))).* from webhooks w
    where id = ${uuidOf(webhook.id)}`)
  await createTestContact(ctx)
  expect(await webhooksWithDelivery()).toEqual([])
})
