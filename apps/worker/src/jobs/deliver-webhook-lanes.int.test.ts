/** How a job goes on with what waits behind its delivery. */
import type { Ctx } from '@rapport/core/context.ts'
import { laneRoom, relayLanes } from '@rapport/core/outbox.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/core/testing/database.ts'
import {
  countDeliveries,
  createTestContact,
  createTestCtx,
  createTestWebhook,
  readOnlyDelivery,
  waitingWork,
} from '@rapport/core/testing/factories.ts'
import { type HttpReceiver, startHttpReceiver } from '@rapport/core/testing/receivers.ts'
import { waitUntil } from '@rapport/core/testing/wait.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { DeliveryDesk } from '../delivery-desk.ts'
import { createTestTools, fillLane, jobOf, type TestTools } from '../testing.ts'
import { deliverWebhook } from './deliver-webhook.ts'

let database: TestDatabase
let receiver: HttpReceiver
let tools: TestTools
let ctx: Ctx
let uuid: string
beforeAll(async () => {
  database = await createTestDatabase()
  tools = await createTestTools(database.db)
})
beforeEach(async () => {
  receiver = await startHttpReceiver()
  ctx = await createTestCtx(database.db)
  await createTestWebhook(ctx, { url: `${receiver.url}/hook` })
  await createTestContact(ctx)
  uuid = (await readOnlyDelivery(ctx)).uuid
})
afterEach(() => receiver.close())
afterAll(async () => {
  await tools.close()
  await database.close()
})

test('a claim on what a job has come for meanwhile is given back, and the delivery handed over anew', async () => {
  const [next = ''] = await fillLane(ctx, 1)
  const job = Promise.withResolvers<void>()
  const deliveries: DeliveryDesk = {
    ...tools.deliveries,
    async settle(ended) {
      const claimed = await tools.deliveries.settle(ended)
      for (const { job: next } of claimed) tools.inHand.set(next.id, job.promise)
      return claimed
    },
  }
  const delivering = deliverWebhook({ ...tools, deliveries }, jobOf(ctx, uuid))
  await waitUntil(() => tools.inHand.has(next), { describe: 'it is in other hands' })
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 1, SENDING: 1, PENDING: laneRoom - 1 })
  tools.inHand.delete(next)
  job.resolve()
  await delivering
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 1, PENDING: laneRoom })
  expect(receiver.requests).toHaveLength(1)
  const handedOver: string[] = []
  await relayLanes(database.db, 'one', async (work) => void handedOver.push(...work.map(({ data }) => data.id)))
  expect(handedOver).toEqual([next])
})

test('a quick receiver gets all that waits, several side by side, each once; a slow one one after the other', async () => {
  const places: number[] = []
  let [out, most] = [0, 0]
  const answeredIn = (durationMs: number, by: TestTools = tools): TestTools => ({
    ...by,
    http: {
      ...by.http,
      async post(url, message) {
        most = Math.max(most, ++out)
        const outcome = await by.http.post(url, message)
        out -= 1
        return { ...outcome, durationMs }
      },
    },
    deliveries: {
      ...by.deliveries,
      settle(ended) {
        places.push(ended.takes)
        return by.deliveries.settle(ended)
      },
    },
  })
  const waiting = await fillLane(ctx, 30)
  await deliverWebhook(answeredIn(25), jobOf(ctx, uuid))
  const ids = receiver.requests.map(({ headers }) => headers['webhook-id'])
  expect([ids.length, new Set(ids).size]).toEqual([1 + waiting.length, 1 + waiting.length])
  expect(new Set(places)).toEqual(new Set([2]))
  expect(most).toBeGreaterThan(1)

  most = places.length = 0
  const before = receiver.requests.length
  const [first = '', ...others] = await waitingWork(ctx)
  for (let n = 0; n < 3; n++) await createTestContact(ctx)
  await deliverWebhook(answeredIn(26), jobOf(ctx, first))
  expect([new Set(places), most, receiver.requests.length - before]).toEqual([new Set([1]), 1, 4])
  expect(await waitingWork(ctx)).toEqual(others)
})

test('no receiver is so quick that a worker has more in hand than it may', async () => {
  const waiting = await fillLane(ctx, 10)
  const small = await createTestTools(database.db, { mostInHand: 2 })
  const inHand: number[] = []
  receiver.answer(() => {
    inHand.push(small.inHand.size)
    return {}
  })
  await deliverWebhook(small, jobOf(ctx, uuid))
  expect(inHand).toHaveLength(1 + waiting.length)
  expect(Math.max(...inHand)).toBeLessThanOrEqual(2)
  await small.close()
})
