import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  asEnded,
  claimTestDrain,
  getTakenIds,
  insertDeliveries,
  recordTestOutcomes,
} from '@rapport/testing/fixtures/webhook-drain.ts'
import {
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
  testOutcome,
} from '@rapport/testing/fixtures/factories.ts'
import { readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { readHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { idOf, type WebhookId } from '../../kernel/ids.ts'
import { recoverOrphanedClaims } from '../../operations/recovery/recover-claims.ts'
import { readDelivery } from '../delivery-log.ts'
import type { DrainClaim } from './drain-claim.ts'
import { recordAndTakeNext, releaseUnacknowledgedDrain } from './drain.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let webhookId: WebhookId
let workerId: string
let otherWorkerId: string
let uuids: string[]
beforeAll(async () => {
  otherWorkerId = await createTestWorker(database.db)
})
beforeEach(async () => {
  workerId = await createTestWorker(database.db)
  webhookId = (await createTestWebhook(ctx)).id
  uuids = await insertDeliveries(ctx, webhookId, { count: 6 })
})

const makeClaim = (limit = 2, by = workerId) => claimTestDrain(ctx, { workerId: by, limit })

async function readStatuses(): Promise<string[]> {
  const read = uuids.map((uuid) => readDelivery(ctx, webhookId, idOf('dlv', uuid)))
  return (await Promise.all(read)).map(({ status }) => status)
}
const pending = (count: number): string[] => Array.from({ length: count }, () => 'PENDING')

/** Expires the heartbeat of the worker and runs recovery: its claim is released, its deliveries are INTERRUPTED. */
async function recover() {
  await expireWorkerHeartbeat(ctx.db, workerId)
  await recoverOrphanedClaims(ctx.db)
}

describe('an outcome', () => {
  test('is recorded with all fields, and the delivery is not taken again', async () => {
    const { claim } = await makeClaim()
    const attemptedAt = timestampAt('2026-01-02T03:04:05.678Z')
    const failure = { status: 'FAILED', responseStatus: 500, responseBody: 'no ☹', error: 'status 500' } as const
    const ended = [
      { uuid: uuids[0] ?? '', outcome: testOutcome({ attemptedAt }) },
      { uuid: uuids[1] ?? '', outcome: testOutcome({ ...failure, attemptedAt: null, durationMs: null }) },
    ]
    expect(getTakenIds(await recordTestOutcomes(ctx, claim, { ended, limit: 20 }))).toEqual(uuids.slice(2))
    const [first, second] = await Promise.all(
      uuids.slice(0, 2).map((uuid) => readDelivery(ctx, webhookId, idOf('dlv', uuid))),
    )
    expect(first).toMatchObject({
      status: 'SUCCEEDED',
      attemptedAt,
      durationMs: 12,
      responseStatus: 200,
      responseBody: 'thanks',
      error: null,
    })
    expect(second).toMatchObject({ ...failure, attemptedAt: null, durationMs: null })
  })

  test('does not change deliveries of another webhook or workspace', async () => {
    const [foreign = ''] = await insertDeliveries(ctx, (await createTestWebhook(ctx)).id)
    const other = await createTestCtx(database.db)
    const { id: otherWebhookId } = await createTestWebhook(other)
    const [otherWorkspaces = ''] = await insertDeliveries(other, otherWebhookId)
    const { claim } = await makeClaim()
    const ended = [
      ...asEnded([foreign]).map((delivery) => ({ ...delivery, webhookId })),
      ...asEnded([otherWorkspaces]).map((delivery) => ({ ...delivery, webhookId: otherWebhookId })),
    ]
    await recordAndTakeNext(ctx.db, claim, { ended, inFlight: [], limits: { total: 0, slow: 0, webhooks: [] } })
    const { rows } = await database.pool.query('select status from deliveries where id = any($1)', [
      [foreign, otherWorkspaces],
    ])
    expect(rows).toEqual([{ status: 'PENDING' }, { status: 'PENDING' }])
    expect(await readHealth(ctx, webhookId)).toBeUndefined()
    expect(await readHealth(other, otherWebhookId)).toBeUndefined()
  })

  test('that is already recorded is not overwritten', async () => {
    const { claim } = await makeClaim()
    await recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 1)), inFlight: uuids.slice(1, 2) })
    const failed = asEnded(uuids.slice(0, 2), { status: 'FAILED' })
    await recordTestOutcomes(ctx, claim, { ended: failed })
    expect(await readStatuses()).toEqual(['SUCCEEDED', 'FAILED', ...pending(4)])
  })
})

describe('a stale token', () => {
  test('takes nothing; its outcomes overwrite INTERRUPTED of the same worker', async () => {
    const { claim, take } = await makeClaim()
    expect(getTakenIds(take)).toEqual(uuids.slice(0, 2))
    await recover()
    expect(await readStatuses()).toEqual(['INTERRUPTED', 'INTERRUPTED', ...pending(4)])
    const step = { ended: asEnded(uuids.slice(0, 1)), inFlight: uuids.slice(1, 2), limit: 20 }
    expect(await recordTestOutcomes(ctx, claim, step)).toBeUndefined()
    expect(await readStatuses()).toEqual(['SUCCEEDED', 'INTERRUPTED', ...pending(4)])
    expect(await readDrain(ctx)).toBeUndefined()
  })

  test('records a late PENDING as FAILED, as the delivery may have been sent again', async () => {
    const { claim } = await makeClaim()
    await recover()
    await recordTestOutcomes(ctx, claim, {
      ended: asEnded(uuids.slice(0, 1), { status: 'PENDING', attemptedAt: null }),
    })
    expect(await readStatuses()).toEqual(['FAILED', 'INTERRUPTED', ...pending(4)])
  })

  test('does not change the claim or the INTERRUPTED deliveries of another worker', async () => {
    const { claim } = await makeClaim()
    await recover()
    const { claim: next, take } = await makeClaim(2, otherWorkerId)
    expect(getTakenIds(take)).toEqual(uuids.slice(2, 4))
    const before = await readDrain(ctx)
    const stale = { ...claim, workerId: otherWorkerId }
    expect(await recordTestOutcomes(ctx, stale, { ended: asEnded(uuids.slice(0, 2)), limit: 20 })).toBeUndefined()
    expect(await readDrain(ctx)).toEqual(before)
    expect(await readStatuses()).toEqual(['INTERRUPTED', 'INTERRUPTED', ...pending(4)])
    const following = await recordTestOutcomes(ctx, next, { inFlight: uuids.slice(2, 4), limit: 20 })
    expect(getTakenIds(following)).toEqual(uuids.slice(4))
  })

  test('that never existed takes nothing, also while no job owns the claim', async () => {
    const { claim } = await makeClaim()
    const unrelated: DrainClaim = { ...claim, workerId: otherWorkerId, tokens: [randomUUID(), randomUUID()] }
    expect(await recordTestOutcomes(ctx, unrelated, { limit: 20 })).toBeUndefined()
    await releaseUnacknowledgedDrain(ctx.db, claim)
    expect(await recordTestOutcomes(ctx, unrelated, { limit: 20 })).toBeUndefined()
    expect(await readStatuses()).toEqual(pending(6))
  })
})

describe('after a lost response', () => {
  test('a repeated call takes the same deliveries again and records nothing twice', async () => {
    const { claim } = await makeClaim()
    const lost = { ...claim, receivers: new Map(claim.receivers) }
    const step = { ended: asEnded(uuids.slice(0, 1)), inFlight: uuids.slice(1, 2), limit: 2 }
    expect(getTakenIds(await recordTestOutcomes(ctx, lost, step))).toEqual(uuids.slice(2, 4))
    claim.tokens = [...claim.tokens, ...lost.tokens]
    const changed = asEnded(uuids.slice(0, 1), { status: 'FAILED', error: 'recorded twice' })
    const again = await recordTestOutcomes(ctx, claim, { ...step, ended: changed })
    expect(getTakenIds(again)).toEqual(uuids.slice(2, 4))
    expect(await readStatuses()).toEqual(['SUCCEEDED', ...pending(5)])
    expect(await readDrain(ctx)).toMatchObject({ inFlight: uuids.slice(1, 4), token: claim.tokens[0] })
  })

  test('a delayed first attempt that arrives after its retry takes nothing', async () => {
    const { claim } = await makeClaim()
    const delayed = { ...claim }
    const step = { ended: asEnded(uuids.slice(0, 1)), inFlight: uuids.slice(1, 2), limit: 2 }
    // The token of the first attempt, which has not reached the database yet.
    claim.tokens = [...claim.tokens, randomUUID()]
    await recordTestOutcomes(ctx, claim, step)
    const before = await readDrain(ctx)
    expect(await recordTestOutcomes(ctx, delayed, step)).toBeUndefined()
    expect(await readDrain(ctx)).toEqual(before)
    expect(await readStatuses()).toEqual(['SUCCEEDED', ...pending(5)])
  })

  test('a delayed first attempt takes nothing after a retry that released the claim', async () => {
    const { claim } = await makeClaim()
    const delayed = { ...claim }
    const ended = asEnded(uuids.slice(0, 2))
    claim.tokens = [...claim.tokens, randomUUID()]
    await recordTestOutcomes(ctx, claim, { ended })
    expect(await recordTestOutcomes(ctx, delayed, { ended, limit: 2 })).toBeUndefined()
    expect(await readDrain(ctx)).toBeUndefined()
  })

  test('a claim keeps the tokens of each attempt until one of them has a response', async () => {
    const { claim } = await makeClaim()
    const [token] = claim.tokens
    // PostgreSQL rejects this text after the transaction has begun.
    const invalid = asEnded(uuids.slice(0, 1), { responseBody: '\u0000' })
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(recordTestOutcomes(ctx, claim, { ended: invalid })).rejects.toThrow()
    }
    expect(claim.tokens).toEqual([token, expect.any(String), expect.any(String)])
    await recordTestOutcomes(ctx, claim, { inFlight: uuids.slice(0, 2) })
    expect(claim.tokens).toEqual([(await readDrain(ctx))?.token])
  })
})

describe('the claim', () => {
  test('is released when nothing is in flight and nothing is taken', async () => {
    const { claim } = await makeClaim()
    await recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 1)), inFlight: uuids.slice(1, 2) })
    expect(await readDrain(ctx)).toMatchObject({ workerId, token: claim.tokens[0] })
    const ended = asEnded(uuids.slice(1, 2)).map((delivery) => ({ ...delivery, webhookId }))
    const step = { ended, inFlight: [], limits: { total: 0, slow: 0, webhooks: [] } }
    expect(await recordAndTakeNext(ctx.db, claim, step)).toEqual({ deliveries: [], hasMore: true })
    expect(await readDrain(ctx)).toBeUndefined()
    expect(getTakenIds((await makeClaim(20)).take)).toEqual(uuids.slice(2))
  })

  test('of a second job waits for a concurrent take and sees its outcomes', async () => {
    const { claim } = await makeClaim()
    const recording = await openTransaction(database.db, (db) =>
      recordTestOutcomes({ ...ctx, db }, claim, { ended: asEnded(uuids.slice(0, 2)) }),
    )
    const second = makeClaim(20, otherWorkerId)
    await waitUntilBlocked(database.db)
    await recording.commit()
    expect(getTakenIds((await second).take)).toEqual(uuids.slice(2))
  })

  test('of a second job waits for the first claim and then fails', async () => {
    const claiming = await openTransaction(database.db, (db) => claimTestDrain({ ...ctx, db }, { workerId, limit: 2 }))
    const second = makeClaim(20, otherWorkerId)
    await waitUntilBlocked(database.db)
    await claiming.commit()
    expect((await second).take).toBeUndefined()
    expect(await readDrain(ctx)).toMatchObject({ workerId, inFlight: uuids.slice(0, 2) })
  })

  test('that recovery releases concurrently takes nothing but records its outcomes', async () => {
    const { claim } = await makeClaim()
    await expireWorkerHeartbeat(ctx.db, workerId)
    const recovering = await openTransaction(database.db, recoverOrphanedClaims)
    const recording = recordTestOutcomes(ctx, claim, { ended: asEnded(uuids.slice(0, 2)), limit: 2 })
    await waitUntilBlocked(database.db)
    await recovering.commit()
    expect(await recording).toBeUndefined()
    expect(await readStatuses()).toEqual(['SUCCEEDED', 'SUCCEEDED', ...pending(4)])
  })

  test('is released by recovery only after a concurrent take of a slow worker', async () => {
    const { claim } = await makeClaim()
    await expireWorkerHeartbeat(ctx.db, workerId)
    const step = { ended: asEnded(uuids.slice(0, 2)), limit: 2 }
    const recording = await openTransaction(database.db, (db) => recordTestOutcomes({ ...ctx, db }, claim, step))
    const recovering = recoverOrphanedClaims(ctx.db)
    await waitUntilBlocked(database.db)
    await recording.commit()
    await recovering
    // The take has renewed the token that recovery found, so the next heartbeat recovers the claim.
    expect(await readDrain(ctx)).toMatchObject({ workerId, inFlight: uuids.slice(2, 4) })
    await recoverOrphanedClaims(ctx.db)
    expect(await readStatuses()).toEqual(['SUCCEEDED', 'SUCCEEDED', 'INTERRUPTED', 'INTERRUPTED', ...pending(2)])
    expect(await readDrain(ctx)).toBeUndefined()
  })
})
