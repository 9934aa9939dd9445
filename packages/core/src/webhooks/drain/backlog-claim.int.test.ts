import { eq, sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { asEnded, getTakenIds, insertDeliveries, recordTestOutcomes } from '@rapport/testing/fixtures/webhook-drain.ts'
import {
  claimTestBacklog,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction } from '@rapport/testing/postgres/database.ts'
import { webhookDrains } from '../../db/schema/index.ts'
import { uuidOf, type WebhookId } from '../../kernel/ids.ts'
import { deleteWebhook } from '../webhooks.ts'
import { type BacklogClaim, claimBacklog, releaseBacklog } from './backlog-claim.ts'

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

const makeClaim = (limit?: number) => claimTestBacklog(ctx, webhookId, limit ? { workerId, limit } : { workerId })
const takeFirst = async (limit?: number) => getTakenIds((await makeClaim(limit)).take)

async function readDrain() {
  const [drain] = await ctx.db.select().from(webhookDrains).where(eq(webhookDrains.webhookId, webhookId))
  return drain
}

describe('a claim', () => {
  test('succeeds for one of 100 concurrent jobs, also if the row does not exist yet', async () => {
    const uuids = await insertDeliveries(ctx, webhookId, { count: 3 })
    expect(await readDrain()).toBeUndefined()
    const claims = await Promise.all(Array.from({ length: 100 }, () => makeClaim()))
    const [successful, ...others] = claims.filter(({ take }) => take !== undefined)
    expect(others).toEqual([])
    expect(getTakenIds(successful?.take)).toEqual(uuids)
    expect(await readDrain()).toMatchObject({ workerId, token: successful?.claim.tokens[0], deliveryIds: uuids })
    const again = await Promise.all(Array.from({ length: 100 }, () => makeClaim()))
    expect(again.filter(({ take }) => take !== undefined)).toEqual([])
  })

  test('succeeds for one of 100 concurrent jobs after a release', async () => {
    await insertDeliveries(ctx, webhookId)
    const { claim: first, take } = await makeClaim()
    await recordTestOutcomes(ctx, first, { ended: asEnded(getTakenIds(take) ?? []), limit: 0 })
    expect(await readDrain()).toMatchObject({ token: null, deliveryIds: [] })
    const [uuid] = await insertDeliveries(ctx, webhookId)
    const claims = await Promise.all(Array.from({ length: 100 }, () => makeClaim()))
    expect(claims.flatMap(({ take }) => getTakenIds(take) ?? [])).toEqual([uuid])
    await releaseBacklog(ctx.db, first)
    expect(await readDrain()).toMatchObject({ deliveryIds: [uuid] })
  })

  test('does not find the webhook of another workspace', async () => {
    await insertDeliveries(ctx, webhookId)
    const other = await createTestCtx(database.db)
    expect((await claimTestBacklog(other, webhookId, { workerId })).take).toBeUndefined()
    expect(await readDrain()).toBeUndefined()
    expect(await takeFirst()).toHaveLength(1)
    const { claim: foreign } = await claimTestBacklog(other, webhookId, { workerId })
    expect(foreign.unreachableCount).toBe(0)
  })

  test('takes deliveries only of its webhook and workspace', async () => {
    const [own] = await insertDeliveries(ctx, webhookId)
    await insertDeliveries(ctx, (await createTestWebhook(ctx)).id)
    const other = await createTestCtx(database.db)
    await ctx.db.execute(sql`
      insert into webhooks select (jsonb_populate_record(w, jsonb_build_object('workspace_id',
        ${uuidOf(other.workspaceId)}::text))).* from webhooks w where id = ${uuidOf(webhookId)}`)
    await insertDeliveries(other, webhookId)
    expect(await takeFirst()).toEqual([own])
  })

  test('of a paused webhook succeeds only after the pause', async () => {
    await insertDeliveries(ctx, webhookId)
    const pauseUntil = (moment: string) =>
      ctx.db.execute(sql`
        insert into webhook_drains (workspace_id, webhook_id, paused_until, unreachable_count)
        values (${uuidOf(ctx.workspaceId)}, ${uuidOf(webhookId)}, now() + ${moment}::interval, 3)
        on conflict (workspace_id, webhook_id) do update set paused_until = excluded.paused_until`)
    await pauseUntil('1 minute')
    expect(await takeFirst()).toBeUndefined()
    expect(await readDrain()).toMatchObject({ token: null, workerId: null })
    await pauseUntil('-1 second')
    expect(await takeFirst()).toHaveLength(1)
  })

  test('of an unreachable receiver takes one delivery, if such claims are admitted', async () => {
    await insertDeliveries(ctx, webhookId, { count: 5 })
    await ctx.db.execute(sql`
      insert into webhook_drains (workspace_id, webhook_id, unreachable_count)
      values (${uuidOf(ctx.workspaceId)}, ${uuidOf(webhookId)}, 1)`)
    const reachableOnly: BacklogClaim = {
      workspaceId: ctx.workspaceId,
      webhookId,
      workerId,
      tokens: [],
      unreachableCount: 0,
    }
    const options = { limit: 20, admitUnreachable: () => false }
    expect(await claimBacklog(ctx.db, reachableOnly, options)).toBe('unclaimable')
    expect(await readDrain()).toMatchObject({ token: null })
    const { claim, take } = await makeClaim()
    expect(getTakenIds(take)).toHaveLength(1)
    expect(claim.unreachableCount).toBe(1)
  })

  test('of a deleted webhook takes nothing, and fails once its row is deleted', async () => {
    await insertDeliveries(ctx, webhookId)
    await deleteWebhook(ctx, webhookId)
    expect((await makeClaim()).take).toEqual({ receiver: undefined, deliveries: [], hasMore: false })
    expect(await readDrain()).toMatchObject({ token: null, workerId: null })
    await ctx.db.execute(sql`delete from webhooks where id = ${uuidOf(webhookId)}`)
    expect((await makeClaim()).take).toBeUndefined()
  })

  test('of an empty backlog returns empty and writes nothing', async () => {
    const none: BacklogClaim = { workspaceId: ctx.workspaceId, webhookId, workerId, tokens: [], unreachableCount: 0 }
    expect(await claimBacklog(ctx.db, none, { limit: 20, admitUnreachable: () => true })).toBe('empty')
    expect(await readDrain()).toBeUndefined()
  })

  test('is released only by its own tokens, including one of a lost response', async () => {
    await insertDeliveries(ctx, webhookId)
    const { claim } = await makeClaim()
    await releaseBacklog(ctx.db, { ...claim, tokens: [crypto.randomUUID()] })
    expect(await readDrain()).toMatchObject({ workerId })
    await releaseBacklog(ctx.db, { ...claim, tokens: [crypto.randomUUID(), ...claim.tokens, crypto.randomUUID()] })
    expect(await readDrain()).toMatchObject({ workerId: null, token: null, deliveryIds: [] })
    expect(await takeFirst()).toHaveLength(1)
  })
})

describe('a take', () => {
  test('returns the oldest deliveries up to its limit, and whether there may be more', async () => {
    const newer = await insertDeliveries(ctx, webhookId, { count: 4, ageMs: 10_000 })
    const older = await insertDeliveries(ctx, webhookId, { count: 3, ageMs: 3_600_000 })
    const inOrder = [...older, ...newer]
    const { claim, take } = await makeClaim(5)
    expect([getTakenIds(take), take?.hasMore]).toEqual([inOrder.slice(0, 5), true])
    const next = await recordTestOutcomes(ctx, claim, { inFlight: inOrder.slice(0, 5), limit: 5 })
    expect([getTakenIds(next), next?.hasMore]).toEqual([inOrder.slice(5), false])
    expect(await readDrain()).toMatchObject({ deliveryIds: inOrder })
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
    expect(await readDrain()).toMatchObject({ deliveryIds: uuids })
  })

  test('with limit 0 takes nothing and keeps the claim while deliveries are in flight', async () => {
    const uuids = await insertDeliveries(ctx, webhookId, { count: 2 })
    const { claim } = await makeClaim(1)
    expect(await recordTestOutcomes(ctx, claim, { inFlight: uuids.slice(0, 1) })).toMatchObject({
      deliveries: [],
      hasMore: true,
    })
    expect(await readDrain()).toMatchObject({ token: claim.tokens[0], deliveryIds: uuids.slice(0, 1) })
  })

  test('without deliveries does not change taken_at', async () => {
    const uuids = await insertDeliveries(ctx, webhookId, { count: 2 })
    const { claim } = await makeClaim(2)
    await ctx.db
      .update(webhookDrains)
      .set({ takenAt: new Date(0) })
      .where(eq(webhookDrains.webhookId, webhookId))
    await recordTestOutcomes(ctx, claim, { inFlight: uuids, limit: 5 })
    expect((await readDrain())?.takenAt).toEqual(new Date(0))
    const [more = ''] = await insertDeliveries(ctx, webhookId)
    await recordTestOutcomes(ctx, claim, { inFlight: uuids, limit: 5 })
    expect(await readDrain()).toMatchObject({ deliveryIds: [...uuids, more] })
    expect((await readDrain())?.takenAt?.getTime()).toBeGreaterThan(0)
  })
})
