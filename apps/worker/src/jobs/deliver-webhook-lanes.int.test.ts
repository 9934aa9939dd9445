/** How a job goes on with what waits behind its delivery. */
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { laneRoom, relayLanes } from '@rapport/core/jobs/outbox.ts'
import {
  countDeliveries,
  createTestContact,
  createTestWebhook,
  readOnlyDelivery,
  waitingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import type { CreatedWebhook } from '@rapport/core/webhooks/webhooks.schema.ts'
import { beforeEach, expect, test } from 'vitest'
import type { DeliveryDesk } from '../webhook-delivery/delivery-desk.ts'
import type { HttpOutcome } from '../webhook-delivery/outbound-http.ts'
import { createQuickLanes } from '../webhook-delivery/quick-lanes.ts'
import { createTestDeps, fillLane, jobOf } from '../testing.ts'
import { deliverWebhook } from './deliver-webhook.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForFile(() => createTestDeps(database.db))
const receiver = useForTest(() => startHttpReceiver())
let uuid: string
let webhook: CreatedWebhook
beforeEach(async () => {
  webhook = await createTestWebhook(ctx, { url: `${receiver.url}/hook` })
  await createTestContact(ctx)
  uuid = (await readOnlyDelivery(ctx)).uuid
})

test('a claim on what a job has come for meanwhile is given back, and the delivery handed over anew', async () => {
  const [next = ''] = await fillLane(ctx, 1)
  const job = Promise.withResolvers<void>()
  const deliveries: DeliveryDesk = {
    ...deps.deliveries,
    async settle(ended) {
      const claimed = await deps.deliveries.settle(ended)
      if (claimed) deps.activeJobs.set(claimed.job.id, job.promise)
      return claimed
    },
  }
  const delivering = deliverWebhook({ ...deps, deliveries }, jobOf(ctx, uuid))
  await waitUntil(() => deps.activeJobs.has(next), { describe: 'it is in other hands' })
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 1, SENDING: 1, PENDING: laneRoom - 1 })
  deps.activeJobs.delete(next)
  job.resolve()
  await delivering
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 1, PENDING: laneRoom })
  expect(receiver.requests).toHaveLength(1)
  const handedOver: string[] = []
  await relayLanes(
    database.db,
    { epoch: 'one' },
    async (work) => void handedOver.push(...work.map(({ data }) => data.id)),
  )
  expect(handedOver).toEqual([next])
})

test('a webhook is remembered as quick as long as its receiver is', async () => {
  const isRemembered = async (answer: Partial<HttpOutcome>) => {
    await createTestContact(ctx)
    const [next = ''] = await waitingWork(ctx)
    const http = { ...deps.http, post: async () => ({ status: 200, body: '', error: null, durationMs: 1, ...answer }) }
    await deliverWebhook({ ...deps, http }, jobOf(ctx, next))
    return deps.quickLanes.list().includes(uuidOf(webhook.id))
  }
  expect(await isRemembered({ durationMs: 25 })).toBe(true)
  expect(await isRemembered({ durationMs: 26 })).toBe(false)
  expect(await isRemembered({ status: 500, error: 'The receiver answered 500' })).toBe(true)
  expect(await isRemembered({ status: null, error: 'The connection failed' })).toBe(false)
})

test('of webhooks that are quick the hundred are remembered that were heard of last', () => {
  const lanes = createQuickLanes()
  for (let n = 0; n < 150; n++) lanes.note(String(n), 1)
  lanes.note('50', 1)
  lanes.note('151', 1)
  expect(lanes.list()).toEqual([...Array.from({ length: 98 }, (_, n) => String(52 + n)), '50', '151'])
})
