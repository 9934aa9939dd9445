import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { uuidOf, type WebhookId } from '@rapport/core/kernel/ids.ts'
import { resetPause } from '@rapport/core/webhooks/health/webhook-health.ts'
import { rotateSecret } from '@rapport/core/webhooks/rotate-secret.ts'
import { updateWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import { deleteWebhook } from '@rapport/core/webhooks/webhooks.ts'
import {
  countDeliveries,
  createTestContact,
  createTestWebhook,
  readSingleDelivery,
  listPendingWork,
  testSettings,
} from '@rapport/testing/fixtures/factories.ts'
import { addBacklog, readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { readHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type ReceivedRequest, startHttpReceiver, verifySignature } from '@rapport/testing/network/receivers.ts'
import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, drain, shortTimings, type TestDeps } from '../../test/fixtures.ts'
import { createUnsignedLog } from './attempt-delivery.ts'
import { describeResult } from './drain-webhooks.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const deps = useForFile(() => createTestDeps(database.db))
const receiver = useForTest(() => startHttpReceiver())
let secret: string
let webhookId: WebhookId
beforeEach(async () => {
  ;({ secret, id: webhookId } = await createTestWebhook(ctx, { url: `${receiver.url}/hook` }))
  await createTestContact(ctx, { email: 'ada@example.com' })
})

const setWebhook = (change: string) =>
  database.pool.query(`update webhooks set ${change} where workspace_id = $1`, [uuidOf(ctx.workspaceId)])

const run = (by: TestDeps = deps) => drain(by, ctx)
const idsOf = (requests: readonly ReceivedRequest[]) => requests.map(({ headers }) => String(headers['webhook-id']))
const numbersOf = (requests: readonly ReceivedRequest[]) =>
  requests.map(({ body }) => (JSON.parse(body.toString()) as { data: { n?: number } }).data.n)

test('sends a signed request and records its outcome', async () => {
  receiver.respondWith(() => ({ status: 202, body: 'thanks' }))
  expect(await run()).toMatchObject({ delivered: 1, failed: 0, durationMs: expect.any(Number) })
  const [request] = receiver.requests
  expect(request).toMatchObject({ method: 'POST', url: '/hook', headers: { 'content-type': 'application/json' } })
  expect(verifySignature(request, secret)).toMatchObject({
    type: 'contact.created',
    data: { email: 'ada@example.com' },
  })
  expect(await readSingleDelivery(ctx)).toMatchObject({
    status: 'SUCCEEDED',
    response_status: 202,
    response_body: 'thanks',
    error: null,
    duration_ms: expect.any(Number),
    attempted_at: expect.anything(),
  })
  expect(await listPendingWork(ctx)).toEqual([])
  expect(await readDrain(ctx)).toBeUndefined()
})

test('sends each delivery of a backlog once, oldest first, and reports the counts', async () => {
  receiver.respondWith(({ body }) => (/"n" ?: ?7}/.test(body.toString()) ? { status: 500 } : undefined))
  await addBacklog(ctx, webhookId, 60)
  const result = await run()
  expect(result).toMatchObject({ delivered: 60, failed: 1 })
  expect(describeResult(result)).toMatch(/^60 delivered, 1 failed, \d+\.\d s$/)
  expect(new Set(idsOf(receiver.requests)).size).toBe(61)
  // The first deliveries are sent in order, as a new receiver gets one request at a time.
  expect(numbersOf(receiver.requests).slice(0, 2)).toEqual([undefined, 1])
  expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 60, FAILED: 1 })
})

describe('concurrent jobs send each delivery once', () => {
  test.each([2, 10, 100])('%d jobs in one process', async (times) => {
    receiver.respondWith(() => ({ delayMs: 30 }))
    await Promise.all(Array.from({ length: times }, () => run()))
    expect(receiver.requests).toHaveLength(1)
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
  })

  test('in several processes, and in a later job', async () => {
    const others = await Promise.all(Array.from({ length: 4 }, () => createTestDeps(database.db)))
    await Promise.all(others.flatMap((other) => [run(other), run(other)]))
    await run()
    expect(receiver.requests).toHaveLength(1)
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
    for (const other of others) await other.close()
  })

  test('in several processes with a long backlog', async () => {
    const others = await Promise.all(Array.from({ length: 3 }, () => createTestDeps(database.db)))
    await addBacklog(ctx, webhookId, 200)
    while ((await listPendingWork(ctx)).length > 0) await Promise.all(others.map((other) => run(other)))
    expect([receiver.requests.length, new Set(idsOf(receiver.requests)).size]).toEqual([201, 201])
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 201 })
    for (const other of others) await other.close()
  })
})

describe('records FAILED with the reason and does not retry', () => {
  const runTwice = async () => {
    await run()
    await run()
    expect(await listPendingWork(ctx)).toEqual([])
    return readSingleDelivery(ctx)
  }

  test.each([400, 429, 500, 503])('a response with status %d', async (status) => {
    receiver.respondWith(() => ({ status, body: 'a\u0000b' }))
    expect(await runTwice()).toMatchObject({
      status: 'FAILED',
      response_status: status,
      response_body: 'a\uFFFDb',
      error: `The receiver responded with ${status}`,
    })
    expect(receiver.requests).toHaveLength(1)
  })

  test('a redirect', async () => {
    const trap = await startHttpReceiver()
    receiver.respondWith(() => ({ status: 307, headers: { location: trap.url } }))
    expect(await runTwice()).toMatchObject({ status: 'FAILED', response_status: 307 })
    expect([receiver.requests.length, trap.requests.length]).toEqual([1, 0])
    await trap.close()
  })

  test('a closed connection', async () => {
    receiver.respondWith(() => ({ fault: 'disconnect' }))
    expect(await runTwice()).toMatchObject({ status: 'FAILED', response_status: null })
    expect(receiver.requests).toHaveLength(1)
  })

  test('a refused connection', async () => {
    await receiver.close()
    expect(await runTwice()).toMatchObject({ status: 'FAILED', error: 'The connection failed (ECONNREFUSED)' })
  })

  test('a private address that WEBHOOK_ALLOWED_NETWORKS does not contain', async () => {
    const production = await createTestDeps(database.db, { allowedNetworks: [] })
    await run(production)
    expect(await runTwice()).toMatchObject({
      status: 'FAILED',
      error: 'The address is not public and not allowed',
      response_status: null,
    })
    expect(receiver.requests).toEqual([])
    await production.close()
  })

  test('an event that no longer exists, and sends the other deliveries', async () => {
    const deleted = await database.pool.query<{ id: string }>(
      'delete from events where workspace_id = $1 returning id',
      [uuidOf(ctx.workspaceId)],
    )
    const eventId = deleted.rows[0]?.id
    await addBacklog(ctx, webhookId, 5)
    await run()
    const { rows } = await database.pool.query(
      'select status, error, attempted_at from deliveries where event_id = $1',
      [eventId],
    )
    expect(rows).toEqual([{ status: 'FAILED', error: 'The event no longer exists', attempted_at: null }])
    expect(new Set(numbersOf(receiver.requests))).toEqual(new Set([1, 2, 3, 4, 5]))
  })
})

describe('a delivery that cannot be signed', () => {
  const wrongKeys = { ...testSettings, keys: deriveKeys('the key of another installation') }
  /** The pause does not end during a test. */
  const timings = { ...shortTimings, firstPauseMs: 60_000 }
  const runWithWrongKey = (more: Partial<TestDeps> = {}) => run({ ...deps, timings, settings: wrongKeys, ...more })
  const error = 'Not sent: the secret of the webhook cannot be decrypted with SECRET_KEY'

  test('stays PENDING and pauses its webhook, and is sent once the key is right', async () => {
    expect(await runWithWrongKey()).toMatchObject({ delivered: 0, failed: 0 })
    expect(receiver.requests).toEqual([])
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'PENDING', attempted_at: null, error })
    expect(await readHealth(ctx, webhookId)).toMatchObject({
      unreachableCount: 3,
      pausedUntil: expect.any(String),
      failingSince: expect.any(String),
      failureCount: 0,
    })
    expect(await run()).toMatchObject({ delivered: 0, failed: 0 })
    expect(await readDrain(ctx)).toBeUndefined()

    await resetPause(ctx, webhookId)
    expect(await run()).toMatchObject({ delivered: 1 })
    expect(idsOf(receiver.requests)).toHaveLength(1)
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED', error: null })
    expect(await readHealth(ctx, webhookId)).toMatchObject({ unreachableCount: 0, failingSince: null })
  })

  test('neither fails nor repeats any other of the backlog', async () => {
    await addBacklog(ctx, webhookId, 30)
    for (let pause = 0; pause < 3; pause += 1) {
      await runWithWrongKey()
      await resetPause(ctx, webhookId)
    }
    expect(await countDeliveries(ctx)).toEqual({ PENDING: 31 })
    await run()
    expect([receiver.requests.length, new Set(idsOf(receiver.requests)).size]).toEqual([31, 31])
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 31 })
  })

  test('waits, too, if the stored secret was changed', async () => {
    await setWebhook(`encrypted_secret = 'x.y.z.w'`)
    await run()
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'PENDING', error })
  })

  test('is logged once per webhook, with the variable to set', async () => {
    const lines: string[] = []
    const logUnsigned = createUnsignedLog(pino({}, { write: (line) => void lines.push(line) }))
    await runWithWrongKey({ logUnsigned })
    await resetPause(ctx, webhookId)
    await runWithWrongKey({ logUnsigned })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/SECRET_KEY_PREVIOUS/)
  })
})

describe('a webhook that is changed', () => {
  /** Delays the receiver's first response until `change` is done. */
  async function drainDuring(change: () => Promise<unknown>) {
    const changed = Promise.withResolvers<undefined>()
    receiver.respondWith(() => changed.promise)
    const draining = run()
    await receiver.waitFor(1)
    await change()
    changed.resolve(undefined)
    await draining
  }
  beforeEach(() => addBacklog(ctx, webhookId, 30))

  test('gets no requests if it was disabled before the drain', async () => {
    await setWebhook('enabled = false')
    await run()
    expect(receiver.requests).toEqual([])
    expect(await countDeliveries(ctx)).toEqual({ FAILED: 31 })
    const { rows } = await database.pool.query('select distinct error from deliveries where webhook_id = $1', [
      uuidOf(webhookId),
    ])
    expect(rows).toEqual([{ error: 'The webhook was disabled' }])
  })

  test('gets no more requests once it is disabled during a drain', async () => {
    await drainDuring(() => updateWebhook(ctx, webhookId, { enabled: false }))
    expect(receiver.requests).toHaveLength(1)
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 1, FAILED: 30 })
  })

  test('gets no more requests once it is deleted during a drain', async () => {
    await drainDuring(() => deleteWebhook(ctx, webhookId))
    expect(receiver.requests).toHaveLength(1)
    expect(await countDeliveries(ctx)).toEqual({ SUCCEEDED: 1, FAILED: 30 })
    expect(await readDrain(ctx)).toBeUndefined()
  })

  test('gets the next requests at its new URL, signed with both secrets', async () => {
    const moved = await startHttpReceiver()
    let rotated = ''
    await drainDuring(async () => {
      await updateWebhook(ctx, webhookId, { url: `${moved.url}/moved` })
      rotated = (await rotateSecret(ctx, webhookId)).secret
    })
    expect([receiver.requests.length, moved.requests.length]).toEqual([1, 30])
    for (const request of moved.requests) {
      expect(verifySignature(request, rotated)).toEqual(verifySignature(request, secret))
    }
    expect(() => verifySignature(receiver.requests[0], rotated)).toThrow('No matching signature')
    await moved.close()
  })

  test('is requeued after it was disabled until its whole backlog is FAILED', async () => {
    await addBacklog(ctx, webhookId, 1_000)
    await setWebhook('enabled = false')
    let requeued = 0
    for (let isLeft = true; isLeft; ) {
      isLeft = false
      await drain({ ...deps, requeueDrain: async () => void (isLeft = true) }, ctx)
      if (isLeft) requeued += 1
    }
    expect(requeued).toBe(2)
    expect(await countDeliveries(ctx)).toEqual({ FAILED: 1_031 })
    expect(receiver.requests).toEqual([])
  })
})
