/** How many requests a drain sends concurrently, how long it runs, and when it pauses a webhook. */
import { idOf, uuidOf, type WebhookId } from '@rapport/core/kernel/ids.ts'
import { RedeliverInput } from '@rapport/core/webhooks/deliveries.schema.ts'
import { redeliver, redeliverMany, testWebhook } from '@rapport/core/webhooks/delivery-log.ts'
import { findBacklogs } from '@rapport/core/webhooks/drain/find-backlogs.ts'
import { countDeliveries, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { addBacklog, readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { readHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import type { HttpOutcome } from '../webhook-delivery/outbound-http.ts'
import { createReceiverMemory } from '../webhook-delivery/receiver-memory.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import { createTestDeps, drain, shortTimings } from '../../test/fixtures.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForFile(() => createTestDeps(database.db))
const receiver = useForTest(() => startHttpReceiver())
let webhookId: WebhookId
beforeEach(async () => {
  webhookId = (await createTestWebhook(ctx, { url: receiver.url })).id
})

const run = (overrides: Partial<typeof deps> = {}) => drain({ ...deps, ...overrides }, ctx)

describe('the number of concurrent requests', () => {
  type Result = Pick<HttpOutcome, 'status' | 'error'>
  const response: Result = { status: 200, error: null }
  const timeout: Result = { status: null, error: 'No response within 10 seconds' }

  /** Holds requests until `end` is called, which ends all of them in the same tick: one round of attempts. */
  function holdRequests() {
    let inFlight: ((result: Result) => void)[] = []
    const post = async (): Promise<HttpOutcome> => {
      const { promise, resolve } = Promise.withResolvers<Result>()
      inFlight.push(resolve)
      return { body: '', durationMs: 1, ...(await promise) }
    }
    return {
      http: { openConnections: () => ({ post, close: async () => {} }), close: async () => {} },
      /** Waits until `count` requests are in flight, and ends them. */
      end: async (count: number, ...results: Result[]) => {
        await waitUntil(() => inFlight.length >= count, {
          describe: () => `${count} requests are in flight, not ${inFlight.length}`,
        })
        expect(inFlight).toHaveLength(count)
        const ended = inFlight
        inFlight = []
        for (const [index, end] of ended.entries()) end(results[index] ?? response)
      },
    }
  }

  test('doubles with each round of responses up to twenty', async () => {
    const { http, end } = holdRequests()
    await addBacklog(ctx, webhookId, 71)
    const draining = run({ http })
    for (const count of [1, 2, 4, 8, 16, 20, 20]) await end(count)
    expect(await draining).toMatchObject({ delivered: 71 })
  })

  test('falls to one after a round with an attempt without a response', async () => {
    const { http, end } = holdRequests()
    await addBacklog(ctx, webhookId, 1 + 2 + 4 + 8 + 1 + 2)
    const draining = run({ http })
    for (const count of [1, 2, 4]) await end(count)
    await end(8, timeout)
    for (const count of [1, 2]) await end(count)
    expect(await draining).toMatchObject({ delivered: 17, failed: 1 })
  })

  test('falls to one after a round without any response', async () => {
    const { http, end } = holdRequests()
    await addBacklog(ctx, webhookId, 1 + 2 + 4 + 1 + 2)
    const draining = run({ http })
    for (const count of [1, 2]) await end(count)
    await end(4, timeout, timeout, timeout, timeout)
    for (const count of [1, 2]) await end(count)
    await draining
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 6, FAILED: 4 })
    expect(await readHealth(ctx, webhookId)).toMatchObject({ unreachableCount: 0, pausedUntil: null })
  })

  test.each([
    { quotas: {}, limit: 20 },
    { quotas: { webhookRequests: 6 }, limit: 6 },
  ])('is at most the quota for all webhooks of a workspace: $limit', async ({ quotas, limit }) => {
    await setQuotas(ctx, quotas)
    let [inFlight, maxInFlight] = [0, 0]
    receiver.respondWith(async () => {
      maxInFlight = Math.max(maxInFlight, ++inFlight)
      await new Promise((resolve) => setTimeout(resolve, 20))
      inFlight -= 1
      return undefined
    })
    const webhookIds = [webhookId]
    for (let n = 0; n < 4; n++) webhookIds.push((await createTestWebhook(ctx, { url: receiver.url })).id)
    for (const id of webhookIds) await addBacklog(ctx, id, 30)
    await Promise.all([run(), run()])
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 150 })
    expect(maxInFlight).toBeGreaterThan(limit / 2)
    expect(maxInFlight).toBeLessThanOrEqual(limit)
  })

  test('of slow receivers is at most half of the quota, so that others go on', async () => {
    const slow = Promise.withResolvers<undefined>()
    const slowReceiver = await startHttpReceiver(() => slow.promise)
    // On a busy machine, a response may take longer than a second.
    const receivers = createReceiverMemory(60_000)
    for (let n = 0; n < 3; n++) {
      const { id } = await createTestWebhook(ctx, { url: slowReceiver.url })
      for (let round = 0; round < 5; round++) {
        receivers.adapt(ctx.workspaceId, id, [{ responseStatus: 200, durationMs: 61_000 }])
      }
      await addBacklog(ctx, id, 30)
    }
    await addBacklog(ctx, webhookId, 100)
    const draining = run({ receivers })
    await receiver.waitFor(100)
    await slowReceiver.waitFor(10)
    await waitUntil(async () => (await countDeliveries(ctx))['SUCCEEDED'] === 100, {
      describe: 'the deliveries of the other webhook are done',
    })
    expect(slowReceiver.requests).toHaveLength(10)
    slow.resolve(undefined)
    expect(await draining).toMatchObject({ delivered: 190 })
    await slowReceiver.close()
  })

  test('a slow response delays neither other outcomes nor further requests', async () => {
    const slow = Promise.withResolvers<undefined>()
    receiver.respondWith(({ body }) => (/"n" ?: ?40}/.test(body.toString()) ? slow.promise : undefined))
    await addBacklog(ctx, webhookId, 100)
    const draining = run()
    await waitUntil(async () => (await countDeliveries(ctx))['SUCCEEDED'] === 99, {
      describe: 'all other deliveries are done',
    })
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 99, PENDING: 1 })
    slow.resolve(undefined)
    expect(await draining).toMatchObject({ delivered: 100 })
    expect(receiver.requests).toHaveLength(100)
  })
})

describe('after its turn', () => {
  const timings = { ...shortTimings, drainTurnMs: 200 }
  beforeEach(async () => {
    receiver.respondWith(() => ({ delayMs: 20 }))
    await addBacklog(ctx, webhookId, 600)
  })

  test('a drain ends if there is no capacity left, and requeues the rest once', async () => {
    const requeued: string[] = []
    const drains = { active: new Map(), max: 1 }
    const requeueDrain = async ({ workspaceId }: WorkJob) => void requeued.push(workspaceId)
    const { delivered, durationMs } = await run({ timings, drains, requeueDrain })
    expect(requeued).toEqual([ctx.workspaceId])
    expect(durationMs).toBeGreaterThanOrEqual(200)
    expect(delivered).toBeLessThan(600)
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: delivered, PENDING: 600 - delivered })
    expect(await readDrain(ctx)).toBeUndefined()
    expect(drains.active.size).toBe(0)
  })

  test('a drain goes on while there is capacity', async () => {
    const requeueDrain = () => Promise.reject(new Error('requeued'))
    expect(await run({ timings, drains: { active: new Map(), max: 2 }, requeueDrain })).toMatchObject({
      delivered: 600,
    })
  })
})

test('a drain of the whole backlog requeues nothing', async () => {
  await addBacklog(ctx, webhookId, 7)
  await run({ requeueDrain: () => Promise.reject(new Error('requeued')) })
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 7 })
})

describe('a receiver that refuses connections', () => {
  let requeued: number
  beforeEach(async () => {
    requeued = 0
    await receiver.close()
    await addBacklog(ctx, webhookId, 30)
  })
  const runOnce = () => run({ requeueDrain: async () => void (requeued += 1) })
  /** How long the pause was when it began; 0 without one. */
  const pauseSeconds = async () => {
    const { pausedUntil, lastFailureAt } = (await readHealth(ctx, webhookId)) ?? {}
    return pausedUntil && lastFailureAt ? (Date.parse(pausedUntil) - Date.parse(lastFailureAt)) / 1_000 : 0
  }
  const setPause = (seconds: number) =>
    database.pool.query(`update webhook_health set paused_until = $2 where webhook_id = $1`, [
      uuidOf(webhookId),
      new Date(Date.now() + seconds * 1_000),
    ])
  const endPause = () => setPause(0)
  /** Reads all pages, because another test leaves a long backlog. */
  const isBacklogFound = async () => {
    let page = await findBacklogs(database.db)
    const found = [...page.workspaceIds]
    while (page.last) found.push(...(page = await findBacklogs(database.db, page.last)).workspaceIds)
    return found.includes(ctx.workspaceId)
  }

  test('is paused after three attempts, and its backlog is not found during the pause', async () => {
    expect(await runOnce()).toMatchObject({ delivered: 0, failed: 3 })
    expect(requeued).toBe(0)
    expect(await readHealth(ctx, webhookId)).toMatchObject({ unreachableCount: 3 })
    expect(await readDrain(ctx)).toBeUndefined()
    expect(await pauseSeconds()).toBe(1)
    await setPause(60)
    expect(await isBacklogFound()).toBe(false)
    await endPause()
    expect(await isBacklogFound()).toBe(true)
  })

  test('gets one attempt after each pause, and the pause doubles up to a minute', async () => {
    await runOnce()
    const pauses: number[] = []
    for (let round = 0; round < 8; round++) {
      await setPause(60)
      expect(await runOnce()).toMatchObject({ delivered: 0, failed: 0 })
      await endPause()
      expect(await runOnce()).toMatchObject({ delivered: 0, failed: 1 })
      pauses.push(await pauseSeconds())
    }
    expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60, 60])
    expect(requeued).toBe(0)
  })

  test('gets the rest of its backlog in the same drain once it responds', async () => {
    await runOnce()
    const back = await startHttpReceiver(undefined, { port: receiver.port })
    await endPause()
    expect(await runOnce()).toMatchObject({ delivered: 27, failed: 0 })
    expect(await readHealth(ctx, webhookId)).toMatchObject({ unreachableCount: 0, pausedUntil: null })
    await back.close()
  })

  test.each([
    ['a test', () => testWebhook(ctx, webhookId)],
    [
      'a redelivery',
      async () => {
        const failed = await database.pool.query<{ id: string }>(
          `select id from deliveries where webhook_id = $1 and status = 'FAILED' limit 1`,
          [uuidOf(webhookId)],
        )
        return redeliver(ctx, webhookId, idOf('dlv', failed.rows[0]?.id ?? ''))
      },
    ],
    ['a redelivery without a match', () => redeliverMany(ctx, webhookId, RedeliverInput.parse({ type: 'deal.won' }))],
  ])('is attempted immediately after %s', async (_name, reset) => {
    await runOnce()
    expect(await pauseSeconds()).toBeGreaterThan(0)
    await reset()
    expect(await readHealth(ctx, webhookId)).toMatchObject({ unreachableCount: 0, pausedUntil: null })
    expect(await runOnce()).toMatchObject({ failed: 3 })
  })

  test('gets three more attempts if the pause is reset during a drain', async () => {
    const unresponsive = await startHttpReceiver(undefined, { port: receiver.port })
    unresponsive.respondWith(async () => {
      if (unresponsive.requests.length === 3) await testWebhook(ctx, webhookId)
      return { fault: 'disconnect' }
    })
    expect(await runOnce()).toMatchObject({ failed: 6 })
    await unresponsive.close()
    expect(requeued).toBe(0)
    expect(await pauseSeconds()).toBeGreaterThan(0)
  })
})
