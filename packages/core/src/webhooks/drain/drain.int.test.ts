import { sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  asEnded,
  claimTestDrain,
  getTakenIds,
  insertDeliveries,
  recordTestOutcomes,
} from '@rapport/testing/fixtures/webhook-drain.ts'
import { createTestCtx, createTestWebhook, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { transaction } from '../../db/transaction.ts'
import { uuidOf, type WebhookId } from '../../kernel/ids.ts'
import { resumeWorkspace, suspendWorkspace } from '../../workspaces/suspension.ts'
import { deleteWebhook } from '../webhooks.ts'
import { lockDrain, prepareDrain } from './drain-claim.ts'
import { claimDrain, recordAndTakeNext, releaseUnacknowledgedDrain } from './drain.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let webhookId: WebhookId
let workerId: string
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})
beforeEach(async () => {
  webhookId = (await createTestWebhook(ctx)).id
})

const makeClaim = (limit?: number) => claimTestDrain(ctx, limit ? { workerId, limit } : { workerId })
const takeFirst = async (limit?: number) => getTakenIds((await makeClaim(limit)).take)
/** Runs 100 jobs of the workspace at once. Returns the claims that succeeded. */
async function makeClaims() {
  const claims = await Promise.all(Array.from({ length: 100 }, () => makeClaim()))
  return claims.filter(({ take }) => take !== undefined)
}
const pending = () =>
  database.db.execute<{ id: string }>(sql`
  select id from deliveries where workspace_id = ${uuidOf(ctx.workspaceId)} and status = 'PENDING' order by created_at, id`)
const pendingIds = async () => (await pending()).rows.map(({ id }) => id)

describe('a claim', () => {
  test('succeeds for one of 100 concurrent jobs of the workspace', async () => {
    const uuids = await insertDeliveries(ctx, webhookId, { count: 3 })
    const [successful, ...others] = await makeClaims()
    expect(others).toEqual([])
    expect(getTakenIds(successful?.take)).toEqual(uuids)
    expect(await readDrain(ctx)).toEqual({ workerId, token: successful?.claim.tokens[0], inFlight: uuids })
    expect(await makeClaims()).toEqual([])
  })

  test('succeeds for one of 100 concurrent jobs after the end of another', async () => {
    await insertDeliveries(ctx, webhookId)
    const { claim: first, take } = await makeClaim()
    await recordTestOutcomes(ctx, first, { ended: asEnded(take?.deliveries ?? []), limit: 0 })
    expect(await readDrain(ctx)).toBeUndefined()
    const [uuid = ''] = await insertDeliveries(ctx, webhookId)
    expect((await makeClaims()).map(({ take }) => getTakenIds(take))).toEqual([[uuid]])
    await releaseUnacknowledgedDrain(ctx.db, first)
    expect(await readDrain(ctx)).toMatchObject({ inFlight: [uuid] })
  })

  test('takes deliveries only of its workspace, also of a webhook with the same id', async () => {
    const [own] = await insertDeliveries(ctx, webhookId)
    const other = await createTestCtx(database.db)
    await ctx.db.execute(sql`
      insert into webhooks select (jsonb_populate_record(w, jsonb_build_object('workspace_id',
        ${uuidOf(other.workspaceId)}::text))).* from webhooks w where id = ${uuidOf(webhookId)}`)
    const [foreign] = await insertDeliveries(other, webhookId)
    await setHealth(other, webhookId, { pausedUntil: timestampAt(Date.now() + 60_000), unreachableCount: 4 })
    const { take } = await makeClaim()
    expect(take?.deliveries).toMatchObject([{ uuid: own, webhookId, unreachableCount: 0 }])
    await setHealth(other, webhookId, { pausedUntil: null })
    const { take: ofOther } = await claimTestDrain(other, { workerId })
    expect(ofOther?.deliveries).toMatchObject([{ uuid: foreign, webhookId, unreachableCount: 4 }])
    expect(await readDrain(ctx)).toMatchObject({ inFlight: [own] })
    expect(await readDrain(other)).toMatchObject({ inFlight: [foreign] })
  })

  test('of a workspace with paused webhooks only fails, until a pause is over', async () => {
    await insertDeliveries(ctx, webhookId)
    const pauseForMs = (ms: number) =>
      setHealth(ctx, webhookId, { pausedUntil: timestampAt(Date.now() + ms), unreachableCount: 3 })
    await pauseForMs(60_000)
    expect((await makeClaim()).take).toBeUndefined()
    expect(await readDrain(ctx)).toBeUndefined()
    await pauseForMs(-1_000)
    expect(await takeFirst()).toHaveLength(1)
  })

  test('knows the unreachable receivers of what it has taken', async () => {
    const other = await createTestWebhook(ctx)
    for (const id of [webhookId, other.id]) await insertDeliveries(ctx, id, { count: 5 })
    await setHealth(ctx, other.id, { unreachableCount: 2 })
    const { claim, take } = await makeClaim()
    expect(take?.deliveries.filter((delivery) => delivery.webhookId === other.id)).toHaveLength(1)
    expect(claim.receivers).toEqual(
      new Map([
        [webhookId, { unreachableCount: 0 }],
        [other.id, { unreachableCount: 2 }],
      ]),
    )
  })

  test('of a deleted webhook takes nothing, and fails once its row is deleted', async () => {
    await insertDeliveries(ctx, webhookId)
    await deleteWebhook(ctx, webhookId)
    expect((await makeClaim()).take).toEqual({ deliveries: [], hasMore: false })
    expect(await readDrain(ctx)).toBeUndefined()
    await ctx.db.execute(sql`delete from webhooks where id = ${uuidOf(webhookId)}`)
    expect((await makeClaim()).take).toBeUndefined()
  })

  test('of an empty backlog fails and writes nothing', async () => {
    await insertDeliveries(ctx, webhookId, { count: 3, status: 'SUCCEEDED' })
    expect((await makeClaim()).take).toBeUndefined()
    expect(await readDrain(ctx)).toBeUndefined()
  })

  test('of a suspended workspace fails and writes nothing', async () => {
    const [uuid] = await insertDeliveries(ctx, webhookId)
    await suspendWorkspace(ctx)
    expect((await makeClaim()).take).toBeUndefined()
    expect(await readDrain(ctx)).toBeUndefined()
    await resumeWorkspace(ctx)
    expect(await takeFirst()).toEqual([uuid])
  })
})

describe('releasing a claim without a response', () => {
  test('needs one of its tokens, and leaves its deliveries PENDING', async () => {
    const uuids = await insertDeliveries(ctx, webhookId, { count: 3 })
    const { claim } = await makeClaim(2)
    await releaseUnacknowledgedDrain(ctx.db, { ...claim, tokens: [crypto.randomUUID()] })
    expect(await readDrain(ctx)).toMatchObject({ workerId, inFlight: uuids.slice(0, 2) })
    const tokens = [crypto.randomUUID(), ...claim.tokens, crypto.randomUUID()]
    await releaseUnacknowledgedDrain(ctx.db, { ...claim, tokens })
    expect(await readDrain(ctx)).toBeUndefined()
    expect(await pendingIds()).toEqual(uuids)
    expect(await takeFirst()).toEqual(uuids)
  })

  test('waits for a claim that is still committing, and then ends it', async () => {
    const uuids = await insertDeliveries(ctx, webhookId, { count: 3 })
    const claims: Awaited<ReturnType<typeof makeClaim>>[] = []
    const claiming = await openTransaction(database.db, async (db) => {
      claims.push(await claimTestDrain({ ...ctx, db }, { workerId }))
    })
    const [committing] = claims
    if (!committing) throw new Error('There is no claim')
    expect(getTakenIds(committing.take)).toEqual(uuids)
    const releasing = releaseUnacknowledgedDrain(ctx.db, committing.claim)
    await waitUntilBlocked(database.db)
    await claiming.commit()
    await releasing
    expect(await readDrain(ctx)).toBeUndefined()
    expect(await pendingIds()).toEqual(uuids)
    expect(await takeFirst()).toEqual(uuids)
  })

  test('of a claim that was never made leaves no row', async () => {
    const { claim } = await makeClaim()
    await releaseUnacknowledgedDrain(ctx.db, claim)
    expect(await readDrain(ctx)).toBeUndefined()
  })
})

describe('while the drain is locked', () => {
  test('no job can claim it', async () => {
    const uuids = await insertDeliveries(ctx, webhookId, { count: 2 })
    const claiming = await lockDrain(ctx.db, ctx.workspaceId, async () => {
      const claiming = makeClaim()
      await waitUntilBlocked(database.db)
      // Not awaited here: it waits for the end of the lock.
      return { claiming }
    })
    expect(getTakenIds((await claiming.claiming).take)).toEqual(uuids)
  })

  test('no job can claim it, even if a claim ended while the lock waited', async () => {
    const uuids = await insertDeliveries(ctx, webhookId, { count: 2 })
    await makeClaim(1)
    const [locked, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const isDrain = sql`workspace_id = ${uuidOf(ctx.workspaceId)} and kind = 'DRAIN'`
    const step = transaction(database.db, async (db) => {
      await db.execute(sql`select from work where ${isDrain} for update`)
      locked.resolve()
      await ending.promise
      await db.execute(sql`delete from work where ${isDrain}`)
    })
    await locked.promise
    const locking = lockDrain(ctx.db, ctx.workspaceId, async (_db, inFlight) => {
      expect(inFlight).toEqual([])
      const claiming = makeClaim()
      await waitUntilBlocked(database.db)
      return { claiming }
    })
    await waitUntilBlocked(database.db)
    ending.resolve()
    await step
    expect(getTakenIds((await (await locking).claiming).take)).toEqual(uuids)
  })
})

describe('a take', () => {
  test('returns the oldest deliveries up to its limit, and whether there may be more', async () => {
    const newer = await insertDeliveries(ctx, webhookId, { count: 4, ageMs: 10_000 })
    const older = await insertDeliveries(ctx, webhookId, { count: 3, ageMs: 3_600_000 })
    const inOrder = [...older, ...newer]
    const claim = prepareDrain({ workspaceId: ctx.workspaceId, workerId })
    const limitsWith = (inFlight: number) => ({
      total: 5,
      slow: 5,
      webhooks: [{ webhookId, inFlight, concurrency: 20, isSlow: false }],
    })
    const take = await claimDrain(ctx.db, claim, limitsWith(0))
    expect([getTakenIds(take), take?.hasMore]).toEqual([inOrder.slice(0, 5), true])
    const step = { ended: [], inFlight: inOrder.slice(0, 5), limits: limitsWith(5) }
    const next = await recordAndTakeNext(ctx.db, claim, step)
    expect([getTakenIds(next), next?.hasMore]).toEqual([inOrder.slice(5), false])
    expect((await readDrain(ctx))?.inFlight.toSorted()).toEqual(inOrder.toSorted())
  })

  test('returns an older delivery that a slow transaction committed later', async () => {
    const slow: string[] = []
    const holding = await openTransaction(database.db, async (db) => {
      slow.push(...(await insertDeliveries({ ...ctx, db }, webhookId, { ageMs: 3_600_000 })))
    })
    const younger = await insertDeliveries(ctx, webhookId, { count: 3 })
    const { claim, take } = await makeClaim(2)
    expect(getTakenIds(take)).toEqual(younger.slice(0, 2))
    await holding.commit()
    const next = await recordTestOutcomes(ctx, claim, { inFlight: younger.slice(0, 2), limit: 1 })
    expect(getTakenIds(next)).toEqual(slow)
  })

  test('skips the deliveries that are in flight or have ended', async () => {
    await insertDeliveries(ctx, webhookId, { count: 3, status: 'SUCCEEDED', ageMs: 3_600_000 })
    const uuids = await insertDeliveries(ctx, webhookId, { count: 6 })
    const { claim } = await makeClaim(3)
    const next = await recordTestOutcomes(ctx, claim, { inFlight: uuids.slice(0, 3), limit: 20 })
    expect(getTakenIds(next)).toEqual(uuids.slice(3))
    expect(await recordTestOutcomes(ctx, claim, { inFlight: uuids, limit: 20 })).toMatchObject({ deliveries: [] })
    expect((await readDrain(ctx))?.inFlight).toEqual(uuids)
  })

  test('with a total of 0 takes nothing and keeps a claim with requests in flight', async () => {
    const uuids = await insertDeliveries(ctx, webhookId, { count: 2 })
    const { claim } = await makeClaim(1)
    const webhooks = [{ webhookId, inFlight: 1, concurrency: 2, isSlow: false }]
    const step = { ended: [], inFlight: uuids.slice(0, 1), limits: { total: 0, slow: 0, webhooks } }
    expect(await recordAndTakeNext(ctx.db, claim, step)).toEqual({ deliveries: [], hasMore: true })
    expect(await readDrain(ctx)).toEqual({ workerId, token: claim.tokens[0], inFlight: uuids.slice(0, 1) })
  })
})
