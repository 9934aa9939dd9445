/** What becomes of deliveries when their webhook changes, and who makes those that wait. */
import { eq, sql } from 'drizzle-orm'
import { Webhook as Verifier } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Ctx } from '../context.ts'
import { uuidOf } from '../ids.ts'
import { laneRoom, relayLanes } from '../outbox.ts'
import { webhooks } from '../schema.ts'
import { deriveKeys } from '../secrets.ts'
import { createTestDatabase, openTransaction, type TestDatabase, waitUntilBlocked } from '../testing/database.ts'
import {
  claimDelivery,
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  settleDelivery,
  waitingWork,
} from '../testing/factories.ts'
import { claimDeliveries, settleDeliveries, signatureHeaders } from './deliveries.ts'
import { changeWebhook, deleteWebhook, purgeWebhooks, rotateSecret } from './webhooks.ts'
import type { CreatedWebhook } from './webhooks.schema.ts'

let database: TestDatabase
let ctx: Ctx
let webhook: CreatedWebhook
let workerId: string
beforeAll(async () => {
  database = await createTestDatabase()
  workerId = await createTestWorker(database.db)
})
beforeEach(async () => {
  await database.pool.query('truncate outbox')
  ctx = await createTestCtx(database.db)
  webhook = await createTestWebhook(ctx)
})
afterAll(() => database.close())

const succeeded = { status: 'SUCCEEDED', durationMs: 1, responseStatus: 200, responseBody: '', error: null } as const

async function createDeliveries(count: number): Promise<string[]> {
  for (let n = 0; n < count; n++) await createTestContact(ctx)
  return waitingWork(ctx)
}

async function claim(uuid: string) {
  const delivery = await claimDelivery(ctx, uuid, workerId)
  if (!delivery) throw new Error('The delivery could not be claimed')
  return delivery
}

async function statuses(): Promise<string[]> {
  const { rows } = await database.pool.query<{ status: string; error: string | null }>(
    'select distinct status, error from deliveries where workspace_id = $1 order by 1',
    [uuidOf(ctx.workspaceId)],
  )
  return rows.map(({ status, error }) => `${status} ${error ?? ''}`.trim())
}

test('all that waits for a webhook has failed as soon as one of it comes up after it was disabled or deleted', async () => {
  const [first = ''] = await createDeliveries(8)
  await changeWebhook(ctx, webhook.id, { enabled: false })
  expect(await claimDelivery(ctx, first, workerId)).toBeUndefined()
  expect([await statuses(), await waitingWork(ctx)]).toEqual([['FAILED The webhook was disabled'], []])

  await changeWebhook(ctx, webhook.id, { enabled: true })
  const [second = ''] = await createDeliveries(3)
  await deleteWebhook(ctx, webhook.id)
  expect(await claimDelivery(ctx, second, workerId)).toBeUndefined()
  expect(await waitingWork(ctx)).toEqual([])
  expect(await statuses()).toEqual(['FAILED The webhook was deleted', 'FAILED The webhook was disabled'])
})

test('a claim that meets the disabling of its webhook waits for it, and is none', async () => {
  const [uuid = ''] = await createDeliveries(1)
  const disabling = await openTransaction(database.db, (db) =>
    db.update(webhooks).set({ enabled: false }).where(eq(webhooks.id, webhook.id)),
  )
  const claiming = claimDelivery(ctx, uuid, workerId)
  await waitUntilBlocked(database.db)
  await disabling.commit()
  expect(await claiming).toBeUndefined()
  expect(await statuses()).toEqual(['FAILED The webhook was disabled'])
})

test('disabling is answered once the requests that were just claimed are out', async () => {
  const [uuid = ''] = await createDeliveries(1)
  await claim(uuid)
  let isAnswered = false
  const disabling = changeWebhook(ctx, webhook.id, { enabled: false }).then(() => (isAnswered = true))
  // Two looks at the database later it has not been answered, and it is as soon as the request is over.
  for (let look = 0; look < 2; look++) await ctx.db.execute(sql`select pg_sleep(0.05)`)
  expect(isAnswered).toBe(false)
  await settleDelivery(ctx, { uuid, workerId }, succeeded)
  await disabling
})

test('the rows of a deleted webhook go a part at a time, those under way only when they are over', async () => {
  const [uuid = '', ...others] = await createDeliveries(3)
  await claim(uuid)
  await database.pool.query(`update deliveries set attempted_at = now() - interval '1 minute' where id = $1`, [uuid])
  await deleteWebhook(ctx, webhook.id)
  for (const other of others) await claimDelivery(ctx, other, workerId)
  expect(await purgeWebhooks(ctx.db)).toBe(0)
  await ctx.db.execute(sql`
    update webhooks set deleted_at = now() - interval '2 minutes' where id = ${uuidOf(webhook.id)}`)
  expect(await purgeWebhooks(ctx.db)).toBe(2)
  expect(await purgeWebhooks(ctx.db)).toBe(0)
  await settleDelivery(ctx, { uuid, workerId }, succeeded)
  expect([await purgeWebhooks(ctx.db), await purgeWebhooks(ctx.db), await purgeWebhooks(ctx.db)]).toEqual([1, 1, 0])
})

test('for 24 hours after a rotation both secrets verify, and after that the new one alone', async () => {
  const [uuid = ''] = await createDeliveries(1)
  const { secret } = await rotateSecret(ctx, webhook.id)
  const delivery = await claim(uuid)
  const now = signatureHeaders(ctx.settings, delivery)
  for (const one of [secret, webhook.secret]) expect(() => new Verifier(one).verify(delivery.body, now)).not.toThrow()
  const tomorrow = signatureHeaders(ctx.settings, delivery, new Date(Date.now() + 24 * 3_600_000 + 1_000))
  expect(now['webhook-signature']?.split(' ')).toHaveLength(2)
  expect(tomorrow['webhook-signature']?.split(' ')).toHaveLength(1)
})

test('under a new SECRET_KEY webhooks are signed on with the former one named; without it, a rotation mends them', async () => {
  const [uuid = ''] = await createDeliveries(1)
  const delivery = await claim(uuid)
  const named = { keys: deriveKeys('the secret of the time after that', ['a secret that is known to every test']) }
  expect(() => new Verifier(webhook.secret).verify(delivery.body, signatureHeaders(named, delivery))).not.toThrow()
  const lost = { ...ctx, settings: { ...ctx.settings, keys: deriveKeys('the secret of the time after that') } }
  expect(() => signatureHeaders(lost.settings, delivery)).toThrow('sealed under another SECRET_KEY')
  const { secret } = await rotateSecret(lost, webhook.id)
  const again = (await createDeliveries(1)).at(-1) ?? ''
  const next = await claim(again)
  expect(() => new Verifier(secret).verify(next.body, signatureHeaders(lost.settings, next))).not.toThrow()
})

test('who is done goes on with what waits in the lane, once each, and with nothing that is in hand', async () => {
  const uuids = await createDeliveries(laneRoom + 2)
  await relayLanes(ctx.db, 'one', async () => {})
  const jobs = uuids.slice(0, laneRoom).map((id) => ({ id, workspaceId: ctx.workspaceId }))
  expect(await claimDeliveries(ctx.db, workerId, jobs)).toHaveLength(laneRoom)
  const settle = (from: number, to: number, inHand: string[] = []) => {
    const ended = jobs.slice(from, to).map((job) => ({ ...job, outcome: succeeded, goesOn: true }))
    return settleDeliveries(ctx.db, workerId, { ended, inHand })
  }
  const first = await settle(0, 1)
  expect(first).toEqual({
    next: [
      { id: uuids[laneRoom], workspaceId: ctx.workspaceId, requestId: ctx.requestId, traceparent: null, epoch: 'one' },
    ],
    hasMadeRoom: false,
  })
  expect(await claimDeliveries(ctx.db, workerId, first.next)).toHaveLength(1)
  // Its claim has handed it over: no relay does.
  await relayLanes(ctx.db, 'one', async () => {
    throw new Error('There was no room')
  })
  const second = await settle(1, 3, [uuids[laneRoom + 1] ?? ''])
  expect(second).toEqual({ next: [], hasMadeRoom: false })
  expect((await settle(3, 4)).next).toMatchObject([{ id: uuids[laneRoom + 1] }])
})

test('where several workers are at work, they do not all go on with the same', async () => {
  await createTestWorker(database.db)
  const uuids = await createDeliveries(laneRoom + 20)
  await relayLanes(ctx.db, 'one', async () => {})
  const jobs = uuids.slice(0, laneRoom).map((id) => ({ id, workspaceId: ctx.workspaceId }))
  await claimDeliveries(ctx.db, workerId, jobs)
  const next = new Set<string | undefined>()
  for (const job of jobs) {
    const ended = [{ ...job, outcome: succeeded, goesOn: true }]
    next.add((await settleDeliveries(ctx.db, workerId, { ended, inHand: [] })).next[0]?.id)
  }
  expect(next.size).toBeGreaterThan(1)
})

test('a relay is told of room as long as there is any for what waits, and not where more was handed over', async () => {
  const uuids = await createDeliveries(laneRoom + 4)
  await relayLanes(ctx.db, 'one', async () => {})
  const jobs = uuids.slice(0, -2).map((id) => ({ id, workspaceId: ctx.workspaceId, epoch: 'one' }))
  expect(await claimDeliveries(ctx.db, workerId, jobs)).toHaveLength(laneRoom + 2)
  const settle = async (at: number) => {
    const ended = jobs.slice(at, at + 1).map((job) => ({ ...job, outcome: succeeded, goesOn: false }))
    return (await settleDeliveries(ctx.db, workerId, { ended, inHand: [] })).hasMadeRoom
  }
  expect([await settle(0), await settle(1), await settle(2), await settle(3)]).toEqual([false, false, true, true])
  await relayLanes(ctx.db, 'one', async () => {})
  expect(await settle(4)).toBe(false)
})
