import { and, eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createTestCtx, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createFailingPeriod, readHealth, setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { webhookHealth, webhooks } from '../../db/schema/index.ts'
import type { WebhookId } from '../../kernel/ids.ts'
import { rotateSecret } from '../rotate-secret.ts'
import { resetPause } from './webhook-health.ts'
import { updateWebhook, createWebhook } from '../../operations/webhooks/save-webhook.ts'
import { deleteWebhook, disableWebhooks, listWebhooks, purgeWebhooks, readWebhook } from '../webhooks.ts'
import type { CreatedWebhook } from '../webhooks.schema.ts'
import { WebhookQuery } from '../webhooks.schema.ts'
import { timestampNow, timestampAt } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let webhook: CreatedWebhook
beforeEach(async () => {
  webhook = await createTestWebhook(ctx)
})

const minutesFromNow = (minutes: number) => timestampAt(Date.now() + minutes * 60_000)
const none = { disabledReason: null, lastSuccessAt: null, lastFailureAt: null, failingSince: null, pausedUntil: null }
const failing = () => ({ ...createFailingPeriod(30, 12), warnedAt: timestampNow() })
const paused = () => ({ unreachableCount: 7, pausedUntil: minutesFromNow(1) })
const isHealthOf = (id: WebhookId) =>
  and(eq(webhookHealth.workspaceId, ctx.workspaceId), eq(webhookHealth.webhookId, id))
const noPause = { unreachableCount: 0, pausedUntil: null }

test('a webhook without any delivery has no health', async () => {
  expect(webhook).toMatchObject(none)
  expect(await readWebhook(ctx, webhook.id)).toMatchObject(none)
})

test('every response shows the health that the worker recorded', async () => {
  const [lastSuccessAt, lastFailureAt, failingSince] = [minutesFromNow(-9), minutesFromNow(-7), minutesFromNow(-8)]
  const pausedUntil = minutesFromNow(1)
  await setHealth(ctx, webhook.id, { lastSuccessAt, lastFailureAt, failingSince, pausedUntil, failureCount: 2 })
  await createTestWebhook(ctx)
  const health = {
    lastSuccessAt,
    lastFailureAt,
    failingSince,
    pausedUntil,
  }
  expect(await readWebhook(ctx, webhook.id)).toMatchObject(health)
  expect(await updateWebhook(ctx, webhook.id, { eventTypes: ['*'] })).toMatchObject({ ...health, eventTypes: ['*'] })
  expect(await rotateSecret(ctx, webhook.id)).toMatchObject(health)
  const { data } = await listWebhooks(ctx, WebhookQuery.parse({}))
  expect(data).toHaveLength(2)
  expect(data.find(({ id }) => id === webhook.id)).toMatchObject(health)
  expect(data.find(({ id }) => id !== webhook.id)).toMatchObject(none)
})

test('a pause in the past is not shown', async () => {
  await setHealth(ctx, webhook.id, { pausedUntil: minutesFromNow(-0.1) })
  expect(await readWebhook(ctx, webhook.id)).toMatchObject({ pausedUntil: null })
})

test('a new url ends a pause but not the failing period', async () => {
  const health = { ...failing(), ...paused() }
  await setHealth(ctx, webhook.id, health)
  expect(await updateWebhook(ctx, webhook.id, { url: 'https://example.com/new' })).toMatchObject({ pausedUntil: null })
  expect(await readHealth(ctx, webhook.id)).toMatchObject({ ...health, ...noPause })
})

test('enabling ends a pause and the failing period, and clears disabledReason', async () => {
  await setHealth(ctx, webhook.id, { ...failing(), ...paused() })
  await ctx.db
    .update(webhooks)
    .set({ enabled: false, disabledReason: 'All 12 failed' })
    .where(and(eq(webhooks.workspaceId, ctx.workspaceId), eq(webhooks.id, webhook.id)))
  expect(await readWebhook(ctx, webhook.id)).toMatchObject({ enabled: false, disabledReason: 'All 12 failed' })
  const enabled = await updateWebhook(ctx, webhook.id, { enabled: true })
  expect(enabled).toMatchObject({ enabled: true, disabledReason: null, failingSince: null, pausedUntil: null })
  expect(enabled.lastFailureAt).not.toBeNull()
  expect(await readHealth(ctx, webhook.id)).toMatchObject({
    ...noPause,
    failingSince: null,
    failureCount: 0,
    warnedAt: null,
  })
})

test('a webhook that a user disabled has no disabledReason', async () => {
  await setHealth(ctx, webhook.id, failing())
  expect(await updateWebhook(ctx, webhook.id, { enabled: false })).toMatchObject({ disabledReason: null })
  await updateWebhook(ctx, webhook.id, { enabled: true })
  await disableWebhooks(ctx)
  expect(await readWebhook(ctx, webhook.id)).toMatchObject({ enabled: false, disabledReason: null })
})

test('other changes do not end a pause', async () => {
  const health = { ...failing(), ...paused() }
  await setHealth(ctx, webhook.id, health)
  await updateWebhook(ctx, webhook.id, { enabled: false, eventTypes: ['*'] })
  await rotateSecret(ctx, webhook.id)
  expect(await readHealth(ctx, webhook.id)).toMatchObject(health)
})

test('a pause is reset for one webhook of one workspace', async () => {
  const [other, foreign] = [await createTestWebhook(ctx), await createTestCtx(database.db)]
  for (const { id } of [webhook, other]) await setHealth(ctx, id, paused())
  await resetPause(foreign, webhook.id)
  expect(await readHealth(ctx, webhook.id)).toMatchObject({ unreachableCount: 7 })
  await resetPause(ctx, webhook.id)
  expect(await readHealth(ctx, webhook.id)).toMatchObject(noPause)
  expect(await readHealth(ctx, other.id)).toMatchObject({ unreachableCount: 7 })
})

test.each([{ enabled: true }, { url: 'https://example.com/new' }])(
  'the change %j locks webhook_health first, like a worker: no deadlock',
  async (change) => {
    await setHealth(ctx, webhook.id, paused())
    const worker = await openTransaction(ctx.db, async (db) => {
      await db.select().from(webhookHealth).where(isHealthOf(webhook.id)).for('update')
    })
    const changing = updateWebhook(ctx, webhook.id, change)
    await waitUntilBlocked(ctx.db)
    // While the change waits for `webhook_health`, it must not have locked the webhook, which the worker locks next.
    const lock = await ctx.db
      .select()
      .from(webhooks)
      .where(and(eq(webhooks.workspaceId, ctx.workspaceId), eq(webhooks.id, webhook.id)))
      .for('share', { skipLocked: true })
    expect(lock).toHaveLength(1)
    await worker.commit()
    expect(await changing).toMatchObject(change)
  },
)

test('purging a deleted webhook locks webhook_health first and deletes both rows', async () => {
  await setHealth(ctx, webhook.id, paused())
  await deleteWebhook(ctx, webhook.id)
  await ctx.db
    .update(webhooks)
    .set({ deletedAt: minutesFromNow(-2) })
    .where(and(eq(webhooks.workspaceId, ctx.workspaceId), eq(webhooks.id, webhook.id)))
  const worker = await openTransaction(ctx.db, async (db) => {
    await db.select().from(webhookHealth).where(isHealthOf(webhook.id)).for('update')
  })
  const purging = purgeWebhooks(ctx.db)
  await waitUntilBlocked(ctx.db)
  const free = await ctx.db
    .select()
    .from(webhooks)
    .where(and(eq(webhooks.workspaceId, ctx.workspaceId), eq(webhooks.id, webhook.id)))
    .for('share', { skipLocked: true })
  expect(free).toHaveLength(1)
  await worker.commit()
  expect(await purging).toBe(1)
  expect(await readHealth(ctx, webhook.id)).toBeUndefined()
})

test('a new webhook has no row in webhook_health', async () => {
  const created = await createWebhook(ctx, { url: 'https://example.com/hook', eventTypes: ['*'] })
  expect(await readHealth(ctx, created.id)).toBeUndefined()
})
