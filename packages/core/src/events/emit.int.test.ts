import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { findOrCreateContact } from '../contacts/upsert-contact.ts'
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

test('an event creates one delivery per subscribed, enabled webhook', async () => {
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

test('without subscribed webhooks an event is recorded without deliveries', async () => {
  await createTestContact(ctx)
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
  expect(await webhooksWithDelivery()).toEqual([])
})

test('a rolled-back change leaves no event, delivery or work', async () => {
  await createTestWebhook(ctx)
  const rolledBack = inTransaction(ctx, async (ctx) => {
    await createTestContact(ctx)
    throw new Error('roll back')
  })
  await expect(rolledBack).rejects.toThrow('roll back')
  await createTestContact(ctx, { email: 'ada@example.com' })
  await expect(createTestContact(ctx, { email: 'ADA@example.com' })).rejects.toMatchObject({ code: 'already_exists' })
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
  expect(await webhooksWithDelivery()).toHaveLength(1)
})

test('later changes of webhooks do not affect the deliveries of an event', async () => {
  const before = await createTestWebhook(ctx)
  await createTestContact(ctx)
  await disable(before.id)
  await createTestWebhook(ctx)
  expect(await webhooksWithDelivery()).toEqual([before.id])
})

test('event data equals the record of the API, with the same field order', async () => {
  const contact = await createTestContact(ctx, { firstName: 'Ada "the first" \\ é 🦉' })
  const [event] = await ctx.db.select().from(events).where(eq(events.workspaceId, ctx.workspaceId))
  expect(JSON.stringify(event?.data)).toBe(JSON.stringify(contact))
})

test('findOrCreateContact emits no event if nothing changes', async () => {
  const ada = { email: 'ada@example.com', firstName: 'Ada', lastName: '', source: 'subscription' }
  await findOrCreateContact(ctx, ada)
  await findOrCreateContact(ctx, { ...ada, firstName: 'Augusta' })
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
  await findOrCreateContact(ctx, { ...ada, lastName: 'Lovelace' })
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'contact.updated'])
})

test('a concurrently deleted webhook does not make the change fail', async () => {
  const webhook = await createTestWebhook(ctx)
  const deleting = await openTransaction(ctx.db, (db) => db.delete(webhooks).where(eq(webhooks.id, webhook.id)))
  const creating = createTestContact(ctx, { email: 'ada@example.com' })
  await waitUntilBlocked(database.db)
  await Promise.all([deleting.commit(), creating])
  expect(await webhooksWithDelivery()).toEqual([])
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
})

test('events never reach a webhook of another workspace, even with the same id', async () => {
  const other = await createTestCtx(database.db)
  const webhook = await createTestWebhook(other)
  await database.db.execute(sql`
    insert into webhooks select (jsonb_populate_record(w, jsonb_build_object('workspace_id',
      ${uuidOf(ctx.workspaceId)}::text, 'event_types', array['deal.won']))).* from webhooks w
    where id = ${uuidOf(webhook.id)}`)
  await createTestContact(ctx)
  expect(await webhooksWithDelivery()).toEqual([])
})
