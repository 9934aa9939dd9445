/** What becomes of deliveries when their webhook changes, and who makes those that wait. */
import { eq, sql } from 'drizzle-orm'
import { Webhook as Verifier } from 'standardwebhooks'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { uuidOf } from '../kernel/ids.ts'
import { laneRoom, quickRoom, relayLanes } from '../jobs/outbox.ts'
import { webhooks } from '../db/schema/index.ts'
import { deriveKeys } from '../kernel/crypto.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  claimDelivery,
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  settleDelivery,
  waitingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { claimDeliveries, signatureHeaders } from './deliveries.ts'
import { readNextDeliveries, settleDeliveries } from './settlement.ts'
import { rotateSecret } from './rotate-secret.ts'
import { changeWebhook, deleteWebhook, purgeWebhooks } from './webhooks.ts'
import type { CreatedWebhook } from './webhooks.schema.ts'

const database = useTestDatabase()
let ctx: Ctx
let webhook: CreatedWebhook
let workerId: string
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})
beforeEach(async () => {
  await database.pool.query('truncate outbox')
  ctx = await createTestCtx(database.db)
  webhook = await createTestWebhook(ctx)
})

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

describe('who is done goes on with what waits in the lane', () => {
  let uuids: string[]
  const relay = (handOver: () => Promise<void> = async () => {}) => relayLanes(ctx.db, { epoch: 'one' }, handOver)
  const jobOf = (id: string | undefined) => ({ id: id ?? '', workspaceId: ctx.workspaceId })
  const settle = (ids: string[], { goesOn = true, isQuick = false, by = workerId, inHand = [] as string[] } = {}) => {
    const ended = ids.map((id) => ({ ...jobOf(id), outcome: succeeded, goesOn, isQuick }))
    return settleDeliveries(ctx.db, by, { ended, inHand })
  }
  const idsOf = (next: { job: { id: string } }[]) => next.map(({ job }) => job.id)
  /** The first of them in hand. */
  async function fillLane(waiting: number) {
    uuids = await createDeliveries(laneRoom + waiting)
    await relay()
    await claimDeliveries(ctx.db, workerId, uuids.slice(0, laneRoom).map(jobOf))
  }

  test('the oldest, claimed and handed over as an outcome is recorded, and nothing that is in hand', async () => {
    await fillLane(2)
    const { next, hasMadeRoom } = await settle(uuids.slice(0, 1))
    expect(next).toEqual([
      {
        job: { ...jobOf(uuids[laneRoom]), requestId: ctx.requestId, traceparent: null },
        delivery: expect.objectContaining({ uuid: uuids[laneRoom], webhookId: webhook.id, url: webhook.url }),
      },
    ])
    expect(hasMadeRoom).toBe(false)
    const { rows } = await database.pool.query(
      'select d.status, d.worker_id, o.relayed_epoch from deliveries d join outbox o using (id) where id = $1',
      [uuids[laneRoom]],
    )
    expect(rows).toEqual([{ status: 'SENDING', worker_id: workerId, relayed_epoch: 'one' }])
    await relay(async () => {
      throw new Error('There was no room')
    })
    const second = await settle(uuids.slice(1, 3), { inHand: uuids.slice(laneRoom + 1) })
    expect(second).toEqual({ next: [], hasMadeRoom: false })
    expect(idsOf((await settle(uuids.slice(3, 4))).next)).toEqual([uuids[laneRoom + 1]])
  })

  test('as many as there were where the receiver is quick; where it no longer is, a relay is told until they are few', async () => {
    uuids = await createDeliveries(3 * quickRoom)
    await relayLanes(ctx.db, { epoch: 'one', quickLanes: [uuidOf(webhook.id)] }, async () => {})
    await claimDeliveries(ctx.db, workerId, uuids.slice(0, quickRoom).map(jobOf))
    const quick = await settle(uuids.slice(0, 5), { isQuick: true })
    expect([quick.next.length, quick.hasMadeRoom]).toEqual([5, false])
    await createTestWebhook(ctx)
    for (let n = 0; n < 2; n++) await createTestContact(ctx)
    await relay()
    // Two of another lane, and so two fewer.
    expect((await settle(uuids.slice(5, 10), { isQuick: true })).next).toHaveLength(3)
    expect(await settle(uuids.slice(10, 18))).toEqual({ next: [], hasMadeRoom: true })
    expect((await settle(uuids.slice(18, 20))).next).toHaveLength(2)
  })

  test('each once, though many workers are done at once', async () => {
    await fillLane(laneRoom - 1)
    const others = await Promise.all(uuids.slice(0, laneRoom).map(() => createTestWorker(database.db)))
    for (const [at, worker] of others.entries()) {
      await database.pool.query('update deliveries set worker_id = $1 where id = $2', [worker, uuids[at]])
    }
    const settled = await Promise.all(others.map((by, at) => settle(uuids.slice(at, at + 1), { by })))
    expect(idsOf(settled.flatMap(({ next }) => next)).toSorted()).toEqual(uuids.slice(laneRoom).toSorted())
  })

  test('not with what is being handed over, claimed or changed at that moment: nobody waits for it', async () => {
    await fillLane(3)
    const [relayed, claimed, other] = uuids.slice(laneRoom)
    const holding = await openTransaction(database.db, async (db) => {
      await db.execute(sql`select from outbox where id = ${relayed} for update`)
      await db.execute(sql`select from deliveries where id = ${claimed} for update`)
    })
    // One place was tried with what another claims.
    expect(idsOf((await settle(uuids.slice(0, 2))).next)).toEqual([other])
    await holding.commit()
    const disabling = await openTransaction(database.db, (db) =>
      db.update(webhooks).set({ enabled: false }).where(eq(webhooks.id, webhook.id)),
    )
    expect(await settle(uuids.slice(2, 3))).toEqual({ next: [], hasMadeRoom: true })
    await disabling.commit()
    expect((await settle(uuids.slice(3, 4))).next).toEqual([])
  })

  test('never on behalf of another workspace, whose outcome is none', async () => {
    await fillLane(1)
    const { workspaceId } = await createTestCtx(database.db)
    const ended = uuids.slice(0, 1).map((id) => ({ id, workspaceId, outcome: succeeded, goesOn: true, isQuick: false }))
    expect(await settleDeliveries(ctx.db, workerId, { ended, inHand: [] })).toEqual({ next: [], hasMadeRoom: false })
    expect(await statuses()).toEqual(['PENDING', 'SENDING'])
    expect(idsOf((await settle(uuids.slice(0, 1))).next)).toEqual(uuids.slice(laneRoom))
    // The same of what was claimed by a statement whose answer was lost.
    expect(await readNextDeliveries(ctx.db, workerId, { ended, inHand: [] })).toEqual([])
  })

  test('whose answer is lost can be read again, and nothing else is', async () => {
    await fillLane(3)
    await settle(uuids.slice(0, 1))
    const ended = uuids.slice(1, 3).map((id) => ({ ...jobOf(id), outcome: succeeded, goesOn: true, isQuick: false }))
    const { next } = await settleDeliveries(ctx.db, workerId, { ended, inHand: [] })
    expect(idsOf(next)).toEqual(uuids.slice(laneRoom + 1))
    // As whoever lost the answer does.
    expect(await settleDeliveries(ctx.db, workerId, { ended, inHand: [] })).toEqual({ next: [], hasMadeRoom: false })
    const found = await readNextDeliveries(ctx.db, workerId, { ended, inHand: [] })
    expect(found.toSorted((a, b) => (a.job.id < b.job.id ? -1 : 1))).toEqual(next)
    expect(await readNextDeliveries(ctx.db, await createTestWorker(database.db), { ended, inHand: [] })).toEqual([])
    expect(idsOf(await readNextDeliveries(ctx.db, workerId, { ended, inHand: uuids.slice(-1) }))).toEqual(
      uuids.slice(-2, -1),
    )
  })

  test('a relay is told of room as long as there is any for what waits', async () => {
    await fillLane(4)
    const more = uuids.slice(laneRoom, laneRoom + 2)
    await claimDeliveries(ctx.db, workerId, more.map(jobOf))
    await ctx.db.execute(sql`update outbox set relayed_epoch = 'one' where id = any(${sql.param(more)}::uuid[])`)
    const tells = async (at: number) => (await settle(uuids.slice(at, at + 1), { goesOn: false })).hasMadeRoom
    expect([await tells(0), await tells(1), await tells(2), await tells(3)]).toEqual([true, true, true, true])
    await relay()
    expect(await tells(4)).toBe(false)
  })
})
