import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { sendCampaign } from '../../campaigns/send-campaign.ts'
import { pauseCampaign } from '../../campaigns/lifecycle.ts'
import type { Ctx } from '../../request/context.ts'
import {
  createTestCampaign,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { claimTestMail } from '@rapport/testing/fixtures/claims.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import {
  asEnded,
  claimTestDrain,
  insertDeliveries,
  recordTestOutcomes,
} from '@rapport/testing/fixtures/webhook-drain.ts'
import { workspaces } from '../../db/schema/index.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'
import { markPublished } from '../../work/publish.ts'
import { enqueueMail } from '../../mail/mails.ts'
import { suspendWorkspace } from '../../workspaces/suspension.ts'
import { readWorkMetrics } from './work-metrics.ts'
import { readWorkSummary } from './work-summary.ts'

const database = useTestDatabase()
let ctx: Ctx
let workerId: string
beforeEach(async () => {
  await database.pool.query('truncate workspaces, workers cascade')
  ctx = await createTestCtx(database.db)
  workerId = await createTestWorker(database.db)
})

const stateOf = async (queue: string) => (await readWorkSummary(ctx.db)).queues.find((state) => state.queue === queue)
const backdateWork = (interval: string) =>
  ctx.db.execute(
    sql`update work set created_at = now() - ${interval}::interval where created_at > now() - interval '1 minute'`,
  )

test('without work there is no age and no lag', async () => {
  const { queues, workLagSeconds, workers } = await readWorkSummary(ctx.db)
  const idle = { waiting: 0, published: 0, active: 0, failed: 0, oldestSeconds: null }
  expect(queues).toEqual([
    ...['webhooks', 'campaigns', 'mail', 'imports'].map((queue) => ({ queue, ...idle })),
    { queue: 'maintenance', ...idle, failed: null },
  ])
  expect(workLagSeconds).toBeNull()
  expect(workers).toMatchObject([{ id: workerId, isAlive: true }])
})

const backdateDeliveries = (interval: string) =>
  ctx.db.execute(sql`update deliveries set created_at = now() - ${interval}::interval`)

test('counts deliveries that wait, are in flight or have failed', async () => {
  const { id } = await createTestWebhook(ctx)
  const uuids = await insertDeliveries(ctx, id, { count: 4, ageMs: 1_000 })
  await backdateDeliveries('90 seconds')
  const { claim } = await claimTestDrain(ctx, { workerId, limit: 2 })
  const ended = asEnded(uuids.slice(1, 2), { status: 'FAILED', responseStatus: 500, error: 'words' })
  await recordTestOutcomes(ctx, claim, { ended, inFlight: uuids.slice(0, 1) })
  expect(await stateOf('webhooks')).toEqual({
    queue: 'webhooks',
    waiting: 2,
    published: 0,
    active: 1,
    failed: 1,
    oldestSeconds: expect.closeTo(90, -1.5) as number,
  })
  const { deliveries } = await readWorkSummary(ctx.db)
  expect(deliveries).toEqual({ PENDING: 3, SUCCEEDED: 0, FAILED: 1, INTERRUPTED: 0 })
})

test('counts other work that waits, is published or is claimed', async () => {
  for (let count = 0; count < 4; count++)
    await enqueueMail(ctx, { kind: 'CONFIRMATION', to: 'a@example.com', data: {} })
  await backdateWork('90 seconds')
  const [first = '', second = ''] = await listPendingWork(ctx, 'mail')
  await markPublished(
    ctx.db,
    [first, second].map((id) => ({ workspaceId: ctx.workspaceId, id })),
  )
  await claimTestMail(ctx, first, workerId)
  expect(await stateOf('mail')).toEqual({
    queue: 'mail',
    waiting: 2,
    published: 2,
    active: 1,
    failed: 0,
    oldestSeconds: expect.closeTo(90, -1.5) as number,
  })
})

test.each([
  ['suspended', suspendWorkspace],
  ['deleted', ({ db }: Ctx) => db.update(workspaces).set({ deletedAt: timestampNow() })],
])('what waits in a %s workspace is counted, but has no age and no lag', async (_name, stop) => {
  await insertDeliveries(ctx, (await createTestWebhook(ctx)).id)
  await enqueueMail(ctx, { kind: 'CONFIRMATION', to: 'a@example.com', data: {} })
  await backdateDeliveries('2 hours')
  await backdateWork('2 hours')
  expect((await readWorkSummary(ctx.db)).workLagSeconds).toBeGreaterThan(7_000)
  await stop(ctx)
  const { queues, workLagSeconds } = await readWorkSummary(ctx.db)
  expect(workLagSeconds).toBeNull()
  expect(queues.flatMap(({ queue, waiting, oldestSeconds }) => (waiting > 0 ? [[queue, oldestSeconds]] : []))).toEqual([
    ['webhooks', null],
    ['mail', null],
  ])
  const metrics = await readWorkMetrics(ctx.db)
  const ages = metrics.queues.map(({ queue, oldestSeconds }) => [queue, oldestSeconds] as const)
  expect(Object.fromEntries(ages)).toEqual({ mail: 0, webhooks: 0 })
})

test('an email that waits for its next attempt is counted, but has no age', async () => {
  await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
  await backdateWork('2 hours')
  expect(await stateOf('mail')).toMatchObject({ waiting: 1, oldestSeconds: null })
  const { queues } = await readWorkMetrics(ctx.db)
  expect(queues).toContainEqual({ queue: 'mail', state: 'waiting', count: 1, oldestSeconds: 0 })
})

test('counts campaigns by status and lists those that are not finished', async () => {
  await createTestCampaign(ctx)
  const { id, name } = await createTestCampaign(ctx, { confirmed: 3 })
  await sendCampaign(ctx, id)
  const underWay = { id, name, workspaceId: ctx.workspaceId, queued: 3, pending: 3, pauseReason: null }
  const sending = await readWorkSummary(ctx.db)
  expect(sending.campaigns).toEqual({ DRAFT: 1, SENDING: 1, PAUSED: 0, SENT: 0, CANCELED: 0 })
  expect(sending.campaignsUnderWay).toEqual([{ ...underWay, status: 'SENDING' }])
  await pauseCampaign(ctx, id)
  expect((await readWorkSummary(ctx.db)).campaignsUnderWay).toEqual([{ ...underWay, status: 'PAUSED' }])
})

test('a worker without a recent heartbeat is not alive', async () => {
  await expireWorkerHeartbeat(database.db, workerId)
  const { workers } = await readWorkSummary(ctx.db)
  expect(workers).toMatchObject([{ id: workerId, isAlive: false, seenSecondsAgo: expect.closeTo(3600, -2) as number }])
})
