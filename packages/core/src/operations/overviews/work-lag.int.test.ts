import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import {
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { claimTestDrain, insertDeliveries } from '@rapport/testing/fixtures/webhook-drain.ts'
import { setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { backdate } from '@rapport/testing/postgres/backdate.ts'
import type { WebhookId } from '../../kernel/ids.ts'
import { enqueueMail } from '../../mail/mails.ts'
import type { Ctx } from '../../request/context.ts'
import { delayWork, markPublished } from '../../work/publish.ts'
import { resumeWorkspace, suspendWorkspace } from '../../workspaces/suspension.ts'
import { readWorkLag } from './work-lag.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
let ctx: Ctx
let webhookId: WebhookId
beforeEach(async () => {
  await database.pool.query('truncate workspaces, workers cascade')
  ctx = await createTestCtx(database.db)
  webhookId = (await createTestWebhook(ctx)).id
})

const [minuteMs, fiveMinutesMs] = [60_000, 300_000]
const ago = (ms: number) => timestampAt(Date.now() - ms)
/** Makes the work five minutes old. */
const backdateWork = () => database.db.execute(sql`update work set ${backdate('due_at', '5 minutes')}`)

test('work has a lag until it is published, and again if its job was not added', async () => {
  expect(await readWorkLag(ctx.db)).toBeNull()
  for (let count = 0; count < 2; count++)
    await enqueueMail(ctx, { kind: 'CONFIRMATION', to: 'a@example.com', data: {} })
  expect(await readWorkLag(ctx.db)).toBeLessThan(60)
  await backdateWork()
  expect(await readWorkLag(ctx.db)).toBeGreaterThan(250)
  // The second mail waits for the published job of the first one, by fair sharing.
  const [first = ''] = await listPendingWork(ctx, 'mail')
  await markPublished(ctx.db, [{ workspaceId: ctx.workspaceId, id: first }])
  expect(await readWorkLag(ctx.db)).toBeNull()
  // Written as published, but its job was not added: no claim, and the poll has not published it again.
  await database.db.execute(sql`update work set ${backdate('published_at', '1 minute')}`)
  expect(await readWorkLag(ctx.db)).toBeGreaterThan(250)
})

test('deliveries have a lag until a job claims their drain', async () => {
  await insertDeliveries(ctx, webhookId, { count: 3, ageMs: fiveMinutesMs })
  expect(await readWorkLag(ctx.db)).toBeGreaterThan(250)
  await claimTestDrain(ctx, { workerId: await createTestWorker(database.db), limit: 1 })
  expect(await readWorkLag(ctx.db)).toBeNull()
})

test('deliveries that must wait have no lag', async () => {
  await insertDeliveries(ctx, webhookId, { ageMs: fiveMinutesMs })
  await suspendWorkspace(ctx)
  expect(await readWorkLag(ctx.db)).toBeNull()
  await resumeWorkspace(ctx)
  expect(await readWorkLag(ctx.db)).toBeGreaterThan(250)
  await setHealth(ctx, webhookId, { pausedUntil: ago(-minuteMs) })
  expect(await readWorkLag(ctx.db)).toBeNull()
  await setHealth(ctx, webhookId, { pausedUntil: null })
  await database.db.execute(sql`update webhooks set enabled = false`)
  expect(await readWorkLag(ctx.db)).toBeNull()
})

test.each(['pausedUntil', 'lastSuccessAt', 'lastFailureAt'] as const)(
  'the lag of an old backlog begins at the last attempt or pause: %s',
  async (column) => {
    await insertDeliveries(ctx, webhookId, { ageMs: fiveMinutesMs })
    await setHealth(ctx, webhookId, { [column]: ago(minuteMs) })
    const lag = await readWorkLag(ctx.db)
    expect(lag).toBeGreaterThan(50)
    expect(lag).toBeLessThan(250)
  },
)

test('the lag of delayed work begins at the end of its delay', async () => {
  await enqueueMail(ctx, { kind: 'CONFIRMATION', to: 'a@example.com', data: {} })
  await delayWork(ctx, await listPendingWork(ctx, 'mail'))
  expect(await readWorkLag(ctx.db)).toBeNull()
  await database.db.execute(
    sql`update work set ${backdate('created_at', '1 hour')}, ${backdate('due_at', '11 minutes')}`,
  )
  const lag = await readWorkLag(ctx.db)
  expect(lag).toBeGreaterThan(50)
  expect(lag).toBeLessThan(100)
})
