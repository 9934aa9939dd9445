/** Drains while the database fails, the claim is lost, or the worker shuts down. */
import { type Database, openDatabase } from '@rapport/core/db/client.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import type { WebhookId } from '@rapport/core/kernel/ids.ts'
import { drainId } from '@rapport/core/work/queues.ts'
import { deregisterWorker } from '@rapport/core/work/worker-registry.ts'
import { findClaims } from '@rapport/testing/fixtures/claims.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import { countDeliveries, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { addBacklog, readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { claimTestDrain } from '@rapport/testing/fixtures/webhook-drain.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, drain, shortTimings, type TestDeps } from '../../test/fixtures.ts'
import { recoverUnknownClaims } from '../process/heartbeat.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
// A look of the drain for new deliveries renews its claim, which a recovery that has read it then leaves alone.
const timings = { ...shortTimings, minDrainLookMs: 3_600_000 }
const deps = useForTest(() => createTestDeps(database.db, { timings }))
const receiver = useForTest(() => startHttpReceiver())
let webhookId: WebhookId
beforeEach(async () => {
  webhookId = (await createTestWebhook(ctx, { url: receiver.url })).id
})

const run = (by: TestDeps = deps) => drain(by, ctx)

/** Expects that `count` deliveries were received, each once. */
function expectEachOnce(count: number) {
  const ids = receiver.requests.map(({ headers }) => headers['webhook-id'])
  expect([ids.length, new Set(ids).size]).toEqual([count, count])
}

/** Delays the responses to all requests from number `first` until the returned promise is resolved. */
function delayResponsesFrom(first: number) {
  const delayed = Promise.withResolvers<undefined>()
  receiver.respondWith(() => (receiver.requests.length >= first ? delayed.promise : undefined))
  return delayed
}

/** Waits until seven deliveries are recorded and all other requests wait for a response. Returns their number. */
async function waitUntilDelayed(): Promise<number> {
  return waitUntil(
    async () => {
      const { SUCCEEDED } = await countDeliveries(ctx)
      const { length } = (await readDrain(ctx))?.inFlight ?? []
      return SUCCEEDED === 7 && receiver.requests.length === 7 + length && length
    },
    { describe: 'the other responses are delayed' },
  )
}

describe('on an unreliable database connection', () => {
  const proxy = useForFile(() => startTestProxy(database.url))
  const proxied = useForFile(
    (): Database => openDatabase(proxy.url, { applicationName: 'rapport test', onError: () => {} }),
  )
  const unreliable = useForTest(() => createTestDeps(proxied.db))
  let cutsBefore: number
  beforeEach(() => void (cutsBefore = proxy.cuts))

  test.each([
    ['before', /claim a drain/],
    ['response', /claim a drain/],
    ['before', /take deliveries/],
    ['response', /take deliveries/],
    ['before', /commit/],
    ['response', /commit/],
  ] as const)(
    'a claim that fails (%s %s) sends nothing; the next job sends the deliveries',
    async (moment, statement) => {
      await addBacklog(ctx, webhookId, 5)
      proxy.cut(statement, moment, 1)
      await expect(run(unreliable)).rejects.toThrow()
      expect(proxy.cuts).toBe(cutsBefore + 1)
      expect(receiver.requests).toEqual([])
      expect(await countDeliveries(ctx)).toEqual({ PENDING: 5 })
      expect(await findClaims(database.db, unreliable.workerId)).toEqual([])
      await run()
      expectEachOnce(5)
      expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 5 })
    },
  )

  test.each([
    ['before', /record outcomes/],
    ['response', /record outcomes/],
    ['before', /take deliveries/],
    ['response', /take deliveries/],
    ['before', /commit/],
    ['response', /commit/],
  ] as const)('a failed statement (%s %s) is retried, and each delivery is sent once', async (moment, statement) => {
    await addBacklog(ctx, webhookId, 40)
    receiver.respondWith(() => {
      if ([1, 4, 20].includes(receiver.requests.length)) proxy.cut(statement, moment, 1)
      return undefined
    })
    expect(await run(unreliable)).toMatchObject({ delivered: 40 })
    expect(proxy.cuts).toBeGreaterThan(cutsBefore)
    expectEachOnce(40)
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 40 })
    expect(await readDrain(ctx)).toBeUndefined()
  })

  test('an outage while outcomes are recorded neither repeats a delivery nor loses one', async () => {
    await addBacklog(ctx, webhookId, 100)
    const delayed = delayResponsesFrom(32)
    const draining = run(unreliable)
    await receiver.waitFor(32 + 19)
    proxy.cut(/[^]/)
    proxy.cutAll()
    delayed.resolve(undefined)
    const { cuts } = proxy
    await waitUntil(() => proxy.cuts > cuts + 3, { describe: 'recording the outcomes was retried' })
    proxy.cut(undefined)
    expect(await draining).toMatchObject({ delivered: expect.any(Number) })
    await run()
    expectEachOnce(100)
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 100 })
  })
})

test('an outcome is recorded although the quota cannot be read at first', async () => {
  await addBacklog(ctx, webhookId, 10)
  let reads = 0
  const read = async () => {
    reads += 1
    if (reads === 2 || reads === 3) throw new AppError('unavailable', 'The database is unavailable')
    return 20
  }
  expect(await run({ ...deps, webhookQuota: { read, peek: () => 20 } })).toMatchObject({ delivered: 10 })
  expectEachOnce(10)
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 10 })
})

test('a worker marks deliveries as INTERRUPTED if it cannot record their outcomes', async () => {
  await addBacklog(ctx, webhookId, 10)
  // A permanent error, which the worker does not retry for a day.
  await database.db.execute(`alter table deliveries add constraint broken check (status <> 'SUCCEEDED') not valid`)
  await expect(run()).rejects.toThrow('Failed query')
  await database.db.execute('alter table deliveries drop constraint broken')
  expect(await findClaims(database.db, deps.workerId)).toEqual([drainId])
  await run()
  expectEachOnce(1)
  await recoverUnknownClaims(deps)
  expect(await countDeliveries(ctx)).toEqual({ INTERRUPTED: 1, PENDING: 9 })
  await run()
  expectEachOnce(10)
})

test('a claim without an active job is released; its delivery becomes INTERRUPTED', async () => {
  await addBacklog(ctx, webhookId, 10)
  await claimTestDrain(ctx, { workerId: deps.workerId, limit: 3 })
  await recoverUnknownClaims(deps)
  expect(await countDeliveries(ctx)).toEqual({ INTERRUPTED: 3, PENDING: 7 })
  expect(await readDrain(ctx)).toBeUndefined()
})

test('a worker keeps the claim of an active job', async () => {
  await addBacklog(ctx, webhookId, 3)
  const delayed = delayResponsesFrom(1)
  const draining = run()
  await receiver.waitFor(1)
  await recoverUnknownClaims(deps)
  expect(await countDeliveries(ctx)).toEqual({ PENDING: 3 })
  delayed.resolve(undefined)
  await draining
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 3 })
})

describe('a worker that shuts down', () => {
  test('waits for requests in flight, records them, and takes no more', async () => {
    await addBacklog(ctx, webhookId, 100)
    const delayed = delayResponsesFrom(8)
    const requeued: string[] = []
    const draining = drain({ ...deps, requeueDrain: async ({ workspaceId }) => void requeued.push(workspaceId) }, ctx)
    const inFlight = await waitUntilDelayed()
    deps.stop()
    delayed.resolve(undefined)
    expect(await draining).toMatchObject({ delivered: 7 + inFlight })
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 7 + inFlight, PENDING: 93 - inFlight })
    expect(await readDrain(ctx)).toBeUndefined()
    expect(requeued).toEqual([ctx.workspaceId])
    const next = await createTestDeps(database.db)
    await run(next)
    await next.close()
    expectEachOnce(100)
  })

  test('sends no request for a new job', async () => {
    await addBacklog(ctx, webhookId, 3)
    deps.stop()
    expect(await run()).toMatchObject({ delivered: 0 })
    expect(receiver.requests).toEqual([])
  })
})

describe('if the claim of a live worker was recovered while its requests were in flight', () => {
  const other = useForTest(() => createTestDeps(database.db))

  /** Starts a drain and recovers its claim while requests are in flight. */
  async function loseClaim() {
    await addBacklog(ctx, webhookId, 60)
    const delayed = delayResponsesFrom(8)
    const draining = run()
    const inFlight = await waitUntilDelayed()
    await deregisterWorker(database.db, deps.workerId)
    expect(await recoverOrphanedClaims(database.db)).toMatchObject({ deliveries: inFlight })
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 7, INTERRUPTED: inFlight, PENDING: 53 - inFlight })
    return { delayed, draining, inFlight }
  }

  test('late outcomes overwrite INTERRUPTED, and the drain ends without taking more', async () => {
    const { delayed, draining, inFlight } = await loseClaim()
    delayed.resolve(undefined)
    expect(await draining).toMatchObject({ delivered: 7 + inFlight })
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 7 + inFlight, PENDING: 53 - inFlight })
    expectEachOnce(7 + inFlight)
  })

  test('another worker drains the rest concurrently, and no delivery is sent twice', async () => {
    const { delayed, draining, inFlight } = await loseClaim()
    const drainingRest = run(other)
    await receiver.waitFor(8 + inFlight)
    delayed.resolve(undefined)
    await Promise.all([draining, drainingRest])
    expectEachOnce(60)
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 60 })
    expect(await readDrain(ctx)).toBeUndefined()
  })

  test('a late outcome of the first worker does not release the claim of the second', async () => {
    const { delayed, draining } = await loseClaim()
    const { take } = await claimTestDrain(ctx, { workerId: other.workerId, limit: 5 })
    delayed.resolve(undefined)
    await draining
    expect(await readDrain(ctx)).toMatchObject({
      workerId: other.workerId,
      inFlight: take?.deliveries.map(({ uuid }) => uuid),
    })
  })
})
