import { type Database, openDatabase } from '@rapport/core/db/client.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { laneRoom } from '@rapport/core/jobs/outbox.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  countDeliveries,
  createTestContact,
  createTestWebhook,
  readOnlyDelivery,
  waitingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startTestProxy, type TestProxy } from '@rapport/testing/network/proxy.ts'
import { startHttpReceiver, verifySignature } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, dropLostClaims, fillLane, jobOf, type TestDeps } from '../testing.ts'
import { deliverWebhook } from './deliver-webhook.ts'
import { findClaims } from '@rapport/core/operations/dead-worker-recovery.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForFile(() => createTestDeps(database.db))
const receiver = useForTest(() => startHttpReceiver())
let secret: string
let uuid: string
beforeEach(async () => {
  secret = (await createTestWebhook(ctx, { url: `${receiver.url}/hook` })).secret
  await createTestContact(ctx, { email: 'ada@example.com' })
  uuid = (await readOnlyDelivery(ctx)).uuid
})

const changeWebhook = (change: string) =>
  database.pool.query(`update webhooks set ${change} where workspace_id = $1`, [uuidOf(ctx.workspaceId)])

const deliver = (by: TestDeps = deps) => deliverWebhook(by, jobOf(ctx, uuid))

test('a delivery is one signed request, and is told as it went', async () => {
  receiver.answer(() => ({ status: 202, body: 'thanks' }))
  await deliver()
  const [request] = receiver.requests
  expect(request).toMatchObject({ method: 'POST', url: '/hook', headers: { 'content-type': 'application/json' } })
  expect(verifySignature(request, secret)).toMatchObject({
    type: 'contact.created',
    data: { email: 'ada@example.com' },
  })
  expect(await readOnlyDelivery(ctx)).toMatchObject({
    status: 'SUCCEEDED',
    response_status: 202,
    response_body: 'thanks',
    error: null,
    duration_ms: expect.any(Number),
    attempted_at: expect.anything(),
  })
  expect(await waitingWork(ctx)).toEqual([])
})

describe('a job that runs many times at once is one request', () => {
  test.each([2, 10, 100])('%d times in one process', async (times) => {
    receiver.answer(() => ({ delayMs: 30 }))
    await Promise.all(Array.from({ length: times }, () => deliver()))
    expect(receiver.requests).toHaveLength(1)
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
  })

  test('in several processes, and again when it is long done', async () => {
    const others = await Promise.all(Array.from({ length: 4 }, () => createTestDeps(database.db)))
    await Promise.all(others.flatMap((other) => [deliver(other), deliver(other)]))
    await deliver()
    expect(receiver.requests).toHaveLength(1)
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
    for (const other of others) await other.close()
  })
})

describe('an attempt that fails is FAILED with the reason, and not repeated', () => {
  const deliverAgain = async () => {
    await deliver()
    await deliver()
    expect(await waitingWork(ctx)).toEqual([])
    return readOnlyDelivery(ctx)
  }

  test.each([400, 429, 500, 503])('answered %d', async (status) => {
    receiver.answer(() => ({ status, body: 'a\u0000b' }))
    expect(await deliverAgain()).toMatchObject({
      status: 'FAILED',
      response_status: status,
      response_body: 'a\uFFFDb',
      error: `The receiver answered ${status}`,
    })
    expect(receiver.requests).toHaveLength(1)
  })

  test('led elsewhere', async () => {
    const trap = await startHttpReceiver()
    receiver.answer(() => ({ status: 307, headers: { location: trap.url } }))
    expect(await deliverAgain()).toMatchObject({ status: 'FAILED', response_status: 307 })
    expect([receiver.requests.length, trap.requests.length]).toEqual([1, 0])
    await trap.close()
  })

  test('cut off', async () => {
    receiver.answer(() => ({ instead: 'disconnect' }))
    expect(await deliverAgain()).toMatchObject({ status: 'FAILED', response_status: null })
    expect(receiver.requests).toHaveLength(1)
  })

  test('nobody there', async () => {
    await receiver.close()
    expect(await deliverAgain()).toMatchObject({ status: 'FAILED', error: 'The connection failed (ECONNREFUSED)' })
  })

  test('a private address, when the operator has not allowed it', async () => {
    const production = await createTestDeps(database.db, { allowedNetworks: [] })
    await deliver(production)
    expect(await deliverAgain()).toMatchObject({
      status: 'FAILED',
      error: 'The address is not public and not allowed',
      response_status: null,
    })
    expect(receiver.requests).toEqual([])
    await production.close()
  })

  test('a secret that cannot be opened', async () => {
    await changeWebhook(`encrypted_secret = 'x.y.z.w'`)
    expect(await deliverAgain()).toMatchObject({ status: 'FAILED', error: 'The delivery could not be signed' })
    expect(receiver.requests).toEqual([])
  })
})

test('after a webhook was disabled no request starts', async () => {
  await changeWebhook('enabled = false')
  await deliver()
  expect(receiver.requests).toEqual([])
  expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'FAILED', error: 'The webhook was disabled' })
})

describe('on a network to the database that fails', () => {
  let proxy: TestProxy
  let proxied: Database
  let shaky: TestDeps
  beforeEach(async () => {
    proxy = await startTestProxy(database.url)
    proxied = openDatabase(proxy.url, { applicationName: 'rapport test', onError: () => {} })
    shaky = await createTestDeps(proxied.db)
  })
  afterEach(async () => {
    await shaky.close()
    await proxied.close()
    await proxy.close()
  })
  test.each(['before', 'answer'] as const)(
    'a claim that is cut off (%s) is no attempt, and the next job makes it',
    async (moment) => {
      proxy.cut(/claim deliveries/, moment, 1)
      await expect(deliver(shaky)).rejects.toThrow()
      expect(proxy.cuts).toBe(1)
      expect(receiver.requests).toEqual([])
      expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'PENDING', attempted_at: null })
      await deliver()
      expect(receiver.requests).toHaveLength(1)
    },
  )

  test.each(['before', 'answer'] as const)(
    'an outcome that is cut off (%s) is recorded all the same, once',
    async (moment) => {
      proxy.cut(/settle deliveries/, moment, 1)
      await deliver(shaky)
      expect(proxy.cuts).toBe(1)
      expect(receiver.requests).toHaveLength(1)
      expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED', response_status: 200 })
      expect(await waitingWork(ctx)).toEqual([])
    },
  )

  test.each(['before', 'answer'] as const)(
    'what was claimed as an outcome was recorded is sent once, though its answer is cut off (%s)',
    async (moment) => {
      await fillLane(ctx, 3)
      proxy.cut(/settle deliveries/, moment, 1)
      await deliver(shaky)
      expect(proxy.cuts).toBe(1)
      // The first, and all that no relay had handed over.
      const ids = receiver.requests.map(({ headers }) => headers['webhook-id'])
      expect([ids.length, new Set(ids).size]).toEqual([4, 4])
      expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 4, PENDING: laneRoom - 1 })
      await dropLostClaims(shaky)
      expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 4, PENDING: laneRoom - 1 })
    },
  )

  test('an outcome that could not be recorded for too long is INTERRUPTED by the worker itself, as it lives', async () => {
    // Not of the kind that passes, so that it is not tried for a minute.
    await database.db.execute(`alter table deliveries add constraint broken check (status <> 'SUCCEEDED') not valid`)
    await expect(deliver()).rejects.toThrow('Failed query')
    await database.db.execute('alter table deliveries drop constraint broken')
    expect(await findClaims(database.db, deps.workerId)).toEqual([uuid])
    await deliver()
    expect(receiver.requests).toHaveLength(1)
    await dropLostClaims(deps)
    expect(await readOnlyDelivery(ctx)).toMatchObject({
      status: 'INTERRUPTED',
      error: 'How it ended could not be recorded',
    })
    expect(await waitingWork(ctx)).toEqual([])
  })

  test('a claim that the server makes after it was given up is INTERRUPTED by the worker itself', async () => {
    const holding = await openTransaction(database.db, (db) =>
      db.execute(`select from deliveries where id = '${uuid}' for update`),
    )
    const delivering = deliver(shaky)
    await waitUntilBlocked(database.db)
    proxy.cutAll()
    await expect(delivering).rejects.toThrow()
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'PENDING' })
    await holding.commit()
    await waitUntil(async () => (await readOnlyDelivery(ctx)).status === 'SENDING', {
      describe: 'the late claim is made',
    })
    await deliver(shaky)
    await dropLostClaims(shaky)
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'INTERRUPTED' })
    expect([receiver.requests.length, await waitingWork(ctx)]).toEqual([0, []])
  })

  test('what is in hand is not lost: it is left alone', async () => {
    receiver.answer(() => ({ delayMs: 100 }))
    const delivering = deliver()
    await receiver.waitFor(1)
    await dropLostClaims(deps)
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SENDING' })
    await delivering
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
  })
})
