/** Drains whose database fails, whose claim is lost, or whose worker shuts down. */
import { type Database, openDatabase } from '@rapport/core/db/client.ts'
import { uuidOf, type WebhookId } from '@rapport/core/kernel/ids.ts'
import { deregisterWorker } from '@rapport/core/jobs/worker-registry.ts'
import { findClaims, recoverOrphanedClaims } from '@rapport/core/operations/orphaned-claims.ts'
import { claimTestBacklog, countDeliveries, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { addBacklog, readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, drain, dropLostClaims, type TestDeps } from '../testing.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForTest(() => createTestDeps(database.db))
const receiver = useForTest(() => startHttpReceiver())
let webhookId: WebhookId
beforeEach(async () => {
  webhookId = (await createTestWebhook(ctx, { url: receiver.url })).id
})

const run = (by: TestDeps = deps) => drain(by, ctx, webhookId)
const isReleased = { worker_id: null, token: null, delivery_ids: [] }

/** No delivery was received twice. */
function expectEachOnce(count: number) {
  const ids = receiver.requests.map(({ headers }) => headers['webhook-id'])
  expect([ids.length, new Set(ids).size]).toEqual([count, count])
}

/** Holds the responses from the request with this number on. */
function holdFrom(first: number) {
  const held = Promise.withResolvers<undefined>()
  receiver.respondWith(() => (receiver.requests.length >= first ? held.promise : undefined))
  return held
}

/** Waits until seven deliveries are recorded and all that are out are held from the eighth on. Returns how many are out. */
async function waitUntilHeld(): Promise<number> {
  return waitUntil(
    async () => {
      const { SUCCEEDED } = await countDeliveries(ctx)
      const { delivery_ids: out } = await readDrain(ctx, webhookId)
      return SUCCEEDED === 7 && receiver.requests.length === 7 + out.length && out.length
    },
    { describe: 'the rest of the requests is held' },
  )
}

describe('on a network to the database that fails', () => {
  const proxy = useForFile(() => startTestProxy(database.url))
  const proxied = useForFile(
    (): Database => openDatabase(proxy.url, { applicationName: 'rapport test', onError: () => {} }),
  )
  const shaky = useForTest(() => createTestDeps(proxied.db))
  let cutsBefore: number
  beforeEach(() => void (cutsBefore = proxy.cuts))

  test.each([
    ['before', /claim a backlog/],
    ['answer', /claim a backlog/],
    ['before', /take deliveries/],
    ['answer', /take deliveries/],
    ['before', /commit/],
    ['answer', /commit/],
  ] as const)('a claim that is cut off (%s %s) is no attempt, and the next job makes it', async (moment, statement) => {
    await addBacklog(ctx, webhookId, 5)
    proxy.cut(statement, moment, 1)
    await expect(run(shaky)).rejects.toThrow()
    expect(proxy.cuts).toBe(cutsBefore + 1)
    expect(receiver.requests).toEqual([])
    expect(await countDeliveries(ctx)).toEqual({ PENDING: 5 })
    expect(await findClaims(database.db, shaky.workerId)).toEqual([])
    await run()
    expectEachOnce(5)
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 5 })
  })

  test.each([
    ['before', /record outcomes/],
    ['answer', /record outcomes/],
    ['before', /take deliveries/],
    ['answer', /take deliveries/],
    ['before', /commit/],
    ['answer', /commit/],
  ] as const)('outcomes and takes that are cut off (%s %s) are made once in the end', async (moment, statement) => {
    await addBacklog(ctx, webhookId, 40)
    receiver.respondWith(() => {
      if ([1, 4, 20].includes(receiver.requests.length)) proxy.cut(statement, moment, 1)
      return undefined
    })
    expect(await run(shaky)).toMatchObject({ delivered: 40 })
    expect(proxy.cuts).toBeGreaterThan(cutsBefore)
    expectEachOnce(40)
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 40 })
    expect(await readDrain(ctx, webhookId)).toMatchObject(isReleased)
  })

  test('a database that is away while twenty outcomes are recorded: each is sent once and recorded', async () => {
    await addBacklog(ctx, webhookId, 100)
    const held = holdFrom(32)
    const draining = run(shaky)
    await receiver.waitFor(32 + 19)
    proxy.cut(/[^]/)
    proxy.cutAll()
    held.resolve(undefined)
    const { cuts } = proxy
    await waitUntil(() => proxy.cuts > cuts + 3, { describe: 'the outcomes were offered in vain' })
    proxy.cut(undefined)
    expect(await draining).toMatchObject({ delivered: expect.any(Number) })
    await run()
    expectEachOnce(100)
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 100 })
  })
})

test('outcomes that cannot be recorded are INTERRUPTED by the worker itself, and no more than these', async () => {
  await addBacklog(ctx, webhookId, 10)
  // Not an error that passes, so that the worker does not retry it for a day.
  await database.db.execute(`alter table deliveries add constraint broken check (status <> 'SUCCEEDED') not valid`)
  await expect(run()).rejects.toThrow('Failed query')
  await database.db.execute('alter table deliveries drop constraint broken')
  expect(await findClaims(database.db, deps.workerId)).toEqual([uuidOf(webhookId)])
  await run()
  expectEachOnce(1)
  await dropLostClaims(deps)
  expect(await countDeliveries(ctx)).toEqual({ INTERRUPTED: 1, PENDING: 9 })
  await run()
  expectEachOnce(10)
})

test('a claim that no job works on is INTERRUPTED by the worker itself', async () => {
  await addBacklog(ctx, webhookId, 10)
  await claimTestBacklog(ctx, webhookId, { workerId: deps.workerId, limit: 3 })
  await dropLostClaims(deps)
  expect(await countDeliveries(ctx)).toEqual({ INTERRUPTED: 3, PENDING: 7 })
  expect(await readDrain(ctx, webhookId)).toMatchObject(isReleased)
})

test('a claim that a job works on is left alone', async () => {
  await addBacklog(ctx, webhookId, 3)
  const held = holdFrom(1)
  const draining = run()
  await receiver.waitFor(1)
  await dropLostClaims(deps)
  expect(await countDeliveries(ctx)).toEqual({ PENDING: 3 })
  held.resolve(undefined)
  await draining
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 3 })
})

describe('a worker that shuts down', () => {
  test('with requests out lets them end, records them, and takes no more', async () => {
    await addBacklog(ctx, webhookId, 100)
    const held = holdFrom(8)
    const requeued: string[] = []
    const draining = drain({ ...deps, requeueDrain: async ({ id }) => void requeued.push(id) }, ctx, webhookId)
    const out = await waitUntilHeld()
    deps.stop()
    held.resolve(undefined)
    expect(await draining).toMatchObject({ delivered: 7 + out })
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 7 + out, PENDING: 93 - out })
    expect(await readDrain(ctx, webhookId)).toMatchObject(isReleased)
    expect(requeued).toEqual([uuidOf(webhookId)])
    const next = await createTestDeps(database.db)
    await run(next)
    await next.close()
    expectEachOnce(100)
  })

  test('starts no request for a job that comes now', async () => {
    await addBacklog(ctx, webhookId, 3)
    deps.stop()
    expect(await run()).toMatchObject({ delivered: 0 })
    expect(receiver.requests).toEqual([])
  })
})

describe('a claim that is lost, as the worker was considered dead with requests out', () => {
  const other = useForTest(() => createTestDeps(database.db))

  /** Some are out, and recovery has released the claim. */
  async function loseClaim() {
    await addBacklog(ctx, webhookId, 60)
    const held = holdFrom(8)
    const draining = run()
    const out = await waitUntilHeld()
    await deregisterWorker(database.db, deps.workerId)
    expect(await recoverOrphanedClaims(database.db)).toMatchObject({ deliveries: out })
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 7, INTERRUPTED: out, PENDING: 53 - out })
    return { held, draining, out }
  }

  test('late outcomes overwrite INTERRUPTED, and the drain ends without taking more', async () => {
    const { held, draining, out } = await loseClaim()
    held.resolve(undefined)
    expect(await draining).toMatchObject({ delivered: 7 + out })
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 7 + out, PENDING: 53 - out })
    expectEachOnce(7 + out)
  })

  test('another worker drains the rest at the same time, and nothing is sent twice', async () => {
    const { held, draining, out } = await loseClaim()
    const drainingRest = run(other)
    await receiver.waitFor(8 + out)
    held.resolve(undefined)
    await Promise.all([draining, drainingRest])
    expectEachOnce(60)
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 60 })
    expect(await readDrain(ctx, webhookId)).toMatchObject(isReleased)
  })

  test('a late outcome of the first worker does not release the claim of the second', async () => {
    const { held, draining } = await loseClaim()
    const { take } = await claimTestBacklog(ctx, webhookId, { workerId: other.workerId, limit: 5 })
    held.resolve(undefined)
    await draining
    const drainRow = await readDrain(ctx, webhookId)
    expect(drainRow.worker_id).toBe(other.workerId)
    expect(drainRow.delivery_ids.toSorted()).toEqual(take?.deliveries.map(({ uuid }) => uuid).toSorted())
  })
})
