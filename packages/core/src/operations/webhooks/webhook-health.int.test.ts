import { eq } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestCtx, createTestWebhook, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createFailingPeriod, readHealth, setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createUser } from '../../auth/users.ts'
import {
  auditEntries,
  deliveries,
  events,
  mails,
  members,
  type Role,
  webhookHealth,
  webhooks,
} from '../../db/schema/index.ts'
import type { WebhookId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { countFailingWebhooks } from '../../webhooks/health/failing-webhooks.ts'
import { updateWebhook } from './save-webhook.ts'
import { deleteWebhook, readWebhook } from '../../webhooks/webhooks.ts'
import type { CreatedWebhook } from '../../webhooks/webhooks.schema.ts'
import { renderMail } from '../mail/render-mail.ts'
import { disableFailingWebhooks, warnAboutFailingWebhooks } from './webhook-health.ts'
import { timestampNow, timestampAt } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let webhook: CreatedWebhook
beforeEach(async () => {
  await database.pool.query('truncate webhooks, mails, users cascade')
  for (const role of ['OWNER', 'ADMIN', 'MEMBER', 'VIEWER'] as const) await join(ctx, role)
  webhook = await createTestWebhook(ctx)
})

async function join(ctx: Ctx, role: Role): Promise<void> {
  const email = `${role.toLowerCase()}@${ctx.workspaceId}.example.com`
  const { id } = await createUser(ctx, { email, name: '', passwordHash: '', by: 'sign_up' })
  await ctx.db.insert(members).values({ workspaceId: ctx.workspaceId, userId: id, role })
}

const adminsOf = (ctx: Ctx) => ['admin', 'owner'].map((name) => `${name}@${ctx.workspaceId}.example.com`)
const mailsOf = ({ db, workspaceId }: Ctx) => db.select().from(mails).where(eq(mails.workspaceId, workspaceId))
const mailedOf = async (ctx: Ctx) =>
  (await mailsOf(ctx)).map(({ kind, toAddress }) => `${kind} ${toAddress}`).toSorted()
const expectedMails = (kind: string) => adminsOf(ctx).map((address) => `${kind} ${address}`)
const warn = () => idsOf(warnAboutFailingWebhooks(ctx))
const disable = () => idsOf(disableFailingWebhooks(ctx))
const isEnabled = async (id: WebhookId) => (await readWebhook(ctx, id)).enabled

async function idsOf(upkeep: AsyncGenerator<{ id: WebhookId }>): Promise<WebhookId[]> {
  const ids: WebhookId[] = []
  for await (const { id } of upkeep) ids.push(id)
  return ids
}

/** Renders the first mail of the workspace. */
async function rendered() {
  const [mail] = await mailsOf(ctx)
  if (!mail) throw new Error('There is no mail')
  return renderMail(ctx, mail)
}

describe('the warning', () => {
  test('reaches owners and admins, once in a failing period', async () => {
    await setHealth(ctx, webhook.id, createFailingPeriod(24.1, 3))
    expect(await warn()).toEqual([webhook.id])
    expect(await mailedOf(ctx)).toEqual(expectedMails('WEBHOOK_FAILING'))
    expect((await readHealth(ctx, webhook.id))?.warnedAt).not.toBeNull()
    expect(await warn()).toEqual([])
    await setHealth(ctx, webhook.id, { ...createFailingPeriod(30, 4), warnedAt: null })
    expect(await warn()).toEqual([webhook.id])
    expect(await mailsOf(ctx)).toHaveLength(4)
  })

  test.each([
    ['for less than a day', createFailingPeriod(23.9, 100)],
    ['in two attempts only', createFailingPeriod(100, 2)],
    ['never', { failingSince: null, failureCount: 0, lastSuccessAt: timestampNow() }],
  ])('is not sent about a webhook that failed %s', async (_case, health) => {
    await setHealth(ctx, webhook.id, health)
    expect(await warn()).toEqual([])
    expect(await mailsOf(ctx)).toEqual([])
  })

  test('is not sent about a disabled or deleted webhook', async () => {
    const deleted = await createTestWebhook(ctx)
    for (const { id } of [webhook, deleted]) await setHealth(ctx, id, createFailingPeriod(30, 5))
    await updateWebhook(ctx, webhook.id, { enabled: false })
    await deleteWebhook(ctx, deleted.id)
    expect(await warn()).toEqual([])
  })

  test('stays within the workspace of the webhook', async () => {
    const other = await createTestCtx(database.db)
    await join(other, 'OWNER')
    const [own] = await Promise.all([createTestWebhook(other), setHealth(ctx, webhook.id, createFailingPeriod(30, 5))])
    await setHealth(other, own.id, createFailingPeriod(2, 5))
    expect(await warn()).toEqual([webhook.id])
    expect(await mailedOf(ctx)).toEqual(expectedMails('WEBHOOK_FAILING'))
    expect(await mailsOf(other)).toEqual([])
  })

  test('names the url, the time, the attempts and the next step, without a secret', async () => {
    await setHealth(ctx, webhook.id, {
      ...createFailingPeriod(24.1, 7),
      failingSince: timestampAt('2026-01-02T03:04:05.678Z'),
    })
    await warn()
    const mail = await rendered()
    expect(mail?.subject).toBe('A webhook has been failing since 2026-01-02T03:04:05Z')
    for (const text of [mail?.text, mail?.html]) {
      for (const part of [
        webhook.url,
        'All 7 attempts since 2026-01-02T03:04:05Z failed',
        `GET /webhooks/${webhook.id}/deliveries`,
        `POST /webhooks/${webhook.id}/redeliver`,
        'https://crm.example.com/docs',
      ])
        expect(text).toContain(part)
      expect(text).not.toContain('whsec')
    }
  })

  test('is not sent if the webhook succeeds, is disabled or deleted first', async () => {
    await setHealth(ctx, webhook.id, createFailingPeriod(30, 5))
    await warn()
    await setHealth(ctx, webhook.id, { failingSince: null, failureCount: 0 })
    expect(await rendered()).toBeUndefined()
    await setHealth(ctx, webhook.id, createFailingPeriod(30, 5))
    expect(await rendered()).toBeDefined()
    await updateWebhook(ctx, webhook.id, { enabled: false })
    expect(await rendered()).toBeUndefined()
    await deleteWebhook(ctx, webhook.id)
    expect(await rendered()).toBeUndefined()
  })

  test('is not sent if deliveries could not be signed after the failures', async () => {
    await setHealth(ctx, webhook.id, createFailingPeriod(30, 5))
    await warn()
    await setHealth(ctx, webhook.id, createFailingPeriod(30, 0))
    expect(await rendered()).toBeUndefined()
  })

  test('is sent once when two workers run the maintenance concurrently', async () => {
    await setHealth(ctx, webhook.id, createFailingPeriod(30, 5))
    const [first, second] = await inParallel(warn)
    expect([...first, ...second]).toEqual([webhook.id])
    expect(await mailsOf(ctx)).toHaveLength(2)
  })
})

describe('a webhook that fails for five days', () => {
  beforeEach(() => setHealth(ctx, webhook.id, createFailingPeriod(120.1, 10)))

  test('is disabled, with the reason, an audit entry and an email', async () => {
    expect(await disable()).toEqual([webhook.id])
    const since = (await readHealth(ctx, webhook.id))?.failingSince?.slice(0, 19)
    const disabledReason = `All 10 attempts since ${since}Z failed`
    expect(await readWebhook(ctx, webhook.id)).toMatchObject({ enabled: false, disabledReason })
    const entries = await ctx.db.select().from(auditEntries).where(eq(auditEntries.workspaceId, ctx.workspaceId))
    expect(entries.at(-1)).toMatchObject({
      action: 'webhook.changed',
      actorKind: 'system',
      subjectId: webhook.id,
      details: { url: webhook.url, enabled: 'false', disabledReason },
    })
    expect(await mailedOf(ctx)).toEqual(expectedMails('WEBHOOK_DISABLED'))
    expect(await disable()).toEqual([])
    expect(await warn()).toEqual([])
  })

  test('emits webhook.disabled to the other webhooks of its workspace only', async () => {
    await updateWebhook(ctx, webhook.id, { eventTypes: ['*'] })
    const subscribedWebhook = await createTestWebhook(ctx, { eventTypes: ['webhook.disabled'] })
    await createTestWebhook(ctx, { eventTypes: ['contact.created'] })
    const elsewhere = await createTestCtx(database.db)
    await createTestWebhook(elsewhere, { eventTypes: ['*'] })
    await disable()
    expect(await listEventTypes(ctx)).toEqual(['webhook.disabled'])
    const [event] = await ctx.db.select().from(events).where(eq(events.workspaceId, ctx.workspaceId))
    expect(event?.data).toEqual(await readWebhook(ctx, webhook.id))
    const sent = await ctx.db.select({ webhookId: deliveries.webhookId }).from(deliveries)
    expect(sent).toEqual([{ webhookId: subscribedWebhook.id }])
  })

  test.each([
    ['in less than five days', createFailingPeriod(119.9, 1_000)],
    ['in nine attempts only', createFailingPeriod(1_000, 9)],
    ['before its last success only', { failingSince: null, failureCount: 0, lastSuccessAt: timestampNow() }],
  ])('stays enabled if it failed %s', async (_case, health) => {
    await setHealth(ctx, webhook.id, health)
    expect(await disable()).toEqual([])
    expect(await isEnabled(webhook.id)).toBe(true)
  })

  test('is skipped if a user disabled it before', async () => {
    await updateWebhook(ctx, webhook.id, { enabled: false })
    expect(await disable()).toEqual([])
    expect(await readWebhook(ctx, webhook.id)).toMatchObject({ disabledReason: null })
  })

  test('stays enabled once a user enabled it again', async () => {
    await disable()
    await updateWebhook(ctx, webhook.id, { enabled: true })
    expect(await disable()).toEqual([])
    expect(await isEnabled(webhook.id)).toBe(true)
  })

  test('is disabled once when two workers run the maintenance concurrently', async () => {
    const [first, second] = await inParallel(disable)
    expect([...first, ...second]).toEqual([webhook.id])
    expect(await listEventTypes(ctx)).toEqual(['webhook.disabled'])
    expect(await mailsOf(ctx)).toHaveLength(2)
  })

  test('stays enabled if a success is recorded while the maintenance waits for its row', async () => {
    const worker = await openTransaction(ctx.db, (db) =>
      db
        .update(webhookHealth)
        .set({ ...createFailingPeriod(0, 1), lastSuccessAt: timestampNow() })
        .where(eq(webhookHealth.webhookId, webhook.id)),
    )
    const disabling = disable()
    await waitUntilBlocked(ctx.db)
    const free = await ctx.db
      .select()
      .from(webhooks)
      .where(eq(webhooks.workspaceId, ctx.workspaceId))
      .for('share', { skipLocked: true })
    expect(free).toHaveLength(1)
    await worker.commit()
    expect(await disabling).toEqual([])
    expect(await isEnabled(webhook.id)).toBe(true)
  })

  test('remains unchanged if one step of disabling fails', async () => {
    await database.pool.query('alter table mails add constraint none check (false) not valid')
    await expect(disable()).rejects.toThrow()
    await database.pool.query('alter table mails drop constraint none')
    expect(await isEnabled(webhook.id)).toBe(true)
    expect(await listEventTypes(ctx)).toEqual([])
    expect(await disable()).toEqual([webhook.id])
  })

  test('has an email that names the url, the reason and the next step', async () => {
    await disable()
    const { disabledReason } = await readWebhook(ctx, webhook.id)
    const mail = await rendered()
    expect(mail?.subject).toBe('A webhook was disabled')
    for (const part of [
      webhook.url,
      `${disabledReason}.`,
      `PATCH /webhooks/${webhook.id}`,
      '/redeliver',
      '/deliveries',
    ])
      expect(mail?.text).toContain(part)
    expect(mail?.text).not.toContain('whsec')
    await updateWebhook(ctx, webhook.id, { enabled: true })
    expect(await rendered()).toBeUndefined()
  })
})

test('the gauge counts enabled webhooks that have failed for an hour', async () => {
  const other = await createTestCtx(database.db)
  expect(await countFailingWebhooks(ctx.db)).toBe(0)
  await setHealth(ctx, webhook.id, createFailingPeriod(0.9, 50))
  expect(await countFailingWebhooks(ctx.db)).toBe(0)
  await setHealth(ctx, webhook.id, createFailingPeriod(1.1, 1))
  await setHealth(other, (await createTestWebhook(other)).id, createFailingPeriod(200, 1))
  expect(await countFailingWebhooks(ctx.db)).toBe(2)
  await updateWebhook(ctx, webhook.id, { enabled: false })
  expect(await countFailingWebhooks(ctx.db)).toBe(1)
})

/** Locks the row until both calls have found the webhook and wait for the lock. */
async function inParallel<Result>(upkeep: () => Promise<Result>): Promise<[Result, Result]> {
  const holding = await openTransaction(ctx.db, (db) =>
    db.select().from(webhookHealth).where(eq(webhookHealth.workspaceId, ctx.workspaceId)).for('update'),
  )
  const running = Promise.all([upkeep(), upkeep()] as const)
  await waitUntilBlocked(ctx.db, 2)
  await holding.commit()
  return running
}
