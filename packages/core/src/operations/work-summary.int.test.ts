import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { sendCampaign } from '../campaigns/send-campaign.ts'
import { pauseCampaign } from '../campaigns/lifecycle.ts'
import type { Ctx } from '../request/context.ts'
import {
  claimDelivery,
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  settleDelivery,
  silenceWorker,
  waitingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
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
const age = (interval: string) =>
  ctx.db.execute(
    sql`update outbox set created_at = now() - ${interval}::interval where created_at > now() - interval '1 minute'`,
  )

test('where nothing is to be done there is no oldest and no lag', async () => {
  const { queues, outboxLagSeconds, workers } = await readWorkSummary(ctx.db)
  const idle = { waiting: 0, handedOver: 0, active: 0, failed: 0, oldestSeconds: null }
  expect(queues).toEqual([
    ...['webhooks', 'campaigns', 'mail', 'imports'].map((queue) => ({ queue, ...idle })),
    { queue: 'maintenance', ...idle, active: null, failed: null },
  ])
  expect(outboxLagSeconds).toBeNull()
  expect(workers).toMatchObject([{ id: workerId, isAlive: true }])
})

test('each piece of work is counted where it stands: waiting, handed over, in hand, failed', async () => {
  await createTestWebhook(ctx)
  for (let count = 0; count < 4; count += 1) await createTestContact(ctx)
  await age('90 seconds')
  const [first = '', second = ''] = await waitingWork(ctx, 'webhooks')
  await ctx.db.execute(
    sql`update outbox set relayed_epoch = 'now', relayed_at = now() where id in (${first}, ${second})`,
  )
  await claimDelivery(ctx, first, workerId)
  await claimDelivery(ctx, second, workerId)
  const failed = { status: 'FAILED', durationMs: 1, responseStatus: 500, responseBody: '', error: 'words' } as const
  await settleDelivery(ctx, { uuid: second, workerId }, failed)
  expect(await stateOf('webhooks')).toEqual({
    queue: 'webhooks',
    waiting: 2,
    handedOver: 1,
    active: 1,
    failed: 1,
    oldestSeconds: expect.closeTo(90, -1.5) as number,
  })
  const { deliveries } = await readWorkSummary(ctx.db)
  expect(deliveries).toEqual({ PENDING: 3, SUCCEEDED: 0, FAILED: 1, INTERRUPTED: 0 })
})

test('what a full lane holds back is no lag; what nothing holds back is', async () => {
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  await createTestContact(ctx)
  await age('5 minutes')
  expect((await readWorkSummary(ctx.db)).outboxLagSeconds).toBeGreaterThan(250)
  const [first = ''] = await waitingWork(ctx)
  await ctx.db.execute(sql`update outbox set relayed_epoch = 'now', relayed_at = now() where id = ${first}`)
  expect((await readWorkSummary(ctx.db)).outboxLagSeconds).toBeNull()
})

test('campaigns are counted by status, and those under way shown with what is left of them', async () => {
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

test('a worker that is silent shows as such', async () => {
  await silenceWorker(database.db, workerId)
  const { workers } = await readWorkSummary(ctx.db)
  expect(workers).toMatchObject([{ id: workerId, isAlive: false, seenSecondsAgo: expect.closeTo(3600, -2) as number }])
})
