import { eq, sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  asEnded,
  claimTestDrain,
  getTakenIds,
  insertDeliveries,
  recordTestOutcomes,
} from '@rapport/testing/fixtures/webhook-drain.ts'
import { createTestCtx, createTestWebhook, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { readDrain } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { deliveries } from '../../db/schema/index.ts'
import type { Ctx } from '../../request/context.ts'
import { uuidOf, type WebhookId } from '../../kernel/ids.ts'
import { expireDeliveries, purgeDeliveries } from './abandoned-deliveries.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let webhookId: WebhookId
let workerId: string
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})
beforeEach(async () => {
  await database.pool.query('truncate workspaces cascade')
  Object.assign(ctx, await createTestCtx(database.db))
  webhookId = (await createTestWebhook(ctx)).id
})

const dayMs = 86_400_000
const countAll = (on: Ctx = ctx) => on.db.$count(deliveries, eq(deliveries.workspaceId, on.workspaceId))
async function readStatuses(uuids: string[]): Promise<string[]> {
  const { rows } = await database.pool.query<{ id: string; status: string }>(
    `select id, concat_ws(' ', status, error) as status from deliveries where id = any($1)`,
    [uuids],
  )
  return uuids.map((uuid) => rows.find(({ id }) => id === uuid)?.status ?? 'deleted')
}

describe('a PENDING delivery', () => {
  test('expires after 30 days and becomes FAILED', async () => {
    const old = await insertDeliveries(ctx, webhookId, { count: 2, ageMs: 30 * dayMs + 60_000 })
    const young = await insertDeliveries(ctx, webhookId, { ageMs: 30 * dayMs - 60_000 })
    const done = await insertDeliveries(ctx, webhookId, { ageMs: 31 * dayMs, status: 'SUCCEEDED' })
    expect(await expireDeliveries(ctx.db)).toBe(2)
    expect(await expireDeliveries(ctx.db)).toBe(0)
    const statuses = await readStatuses([...old, ...young, ...done])
    expect(statuses).toEqual(['FAILED expired', 'FAILED expired', 'PENDING', 'SUCCEEDED'])
  })

  test('that is in flight does not expire and gets its outcome', async () => {
    const [inFlight = '', waiting = ''] = await insertDeliveries(ctx, webhookId, { count: 2, ageMs: 31 * dayMs })
    const { claim } = await claimTestDrain(ctx, { workerId, limit: 1 })
    expect(await expireDeliveries(ctx.db)).toBe(1)
    expect(await readStatuses([inFlight, waiting])).toEqual(['PENDING', 'FAILED expired'])
    expect(getTakenIds(await recordTestOutcomes(ctx, claim, { ended: asEnded([inFlight]), limit: 20 }))).toEqual([])
    expect(await readStatuses([inFlight, waiting])).toEqual(['SUCCEEDED', 'FAILED expired'])
  })

  test('that is taken concurrently does not expire', async () => {
    const [inFlight = '', waiting = ''] = await insertDeliveries(ctx, webhookId, { count: 2, ageMs: 31 * dayMs })
    const taking = await openTransaction(database.db, (db) => claimTestDrain({ ...ctx, db }, { workerId, limit: 1 }))
    const expiring = expireDeliveries(ctx.db)
    await waitUntilBlocked(database.db)
    await taking.commit()
    expect(await expiring).toBe(1)
    expect(await readStatuses([inFlight, waiting])).toEqual(['PENDING', 'FAILED expired'])
  })

  test('that expires concurrently is not taken', async () => {
    await insertDeliveries(ctx, webhookId, { count: 2, ageMs: 31 * dayMs })
    const expiring = await openTransaction(database.db, expireDeliveries)
    const claiming = claimTestDrain(ctx, { workerId })
    await waitUntilBlocked(database.db)
    await expiring.commit()
    expect((await claiming).take).toEqual({ deliveries: [], hasMore: false })
    expect(await readDrain(ctx)).toBeUndefined()
  })

  test('expires in small steps, across webhooks and workspaces', async () => {
    const other = await createTestCtx(database.db)
    await insertDeliveries(other, (await createTestWebhook(other)).id, { ageMs: 31 * dayMs })
    await insertDeliveries(ctx, (await createTestWebhook(ctx)).id, { ageMs: 31 * dayMs })
    await insertDeliveries(ctx, webhookId, { count: 1_200, ageMs: 31 * dayMs })
    const steps: number[] = []
    for (let step = -1; step !== 0; steps.push(step)) step = await expireDeliveries(ctx.db)
    expect(steps.every((step) => step <= 502)).toBe(true)
    expect(steps.reduce((sum, step) => sum + step)).toBe(1_202)
    expect(await database.db.$count(deliveries, eq(deliveries.status, 'PENDING'))).toBe(0)
  })
})

test('expired deliveries are deleted in small steps; PENDING ones are kept', async () => {
  const old = { ageMs: 38 * dayMs, status: 'SUCCEEDED' } as const
  await insertDeliveries(ctx, webhookId, { ...old, count: 600 })
  const kept = [
    ...(await insertDeliveries(ctx, webhookId, { ageMs: 38 * dayMs })),
    ...(await insertDeliveries(ctx, webhookId, { ageMs: 36 * dayMs, status: 'SUCCEEDED' })),
  ]
  const other = await createTestCtx(database.db)
  await insertDeliveries(other, (await createTestWebhook(other)).id, old)
  const steps = [await purgeDeliveries(ctx.db), await purgeDeliveries(ctx.db), await purgeDeliveries(ctx.db)]
  expect(steps).toEqual([500, 101, 0])
  expect([await countAll(), await countAll(other)]).toEqual([2, 0])
  expect(await readStatuses(kept)).toEqual(['PENDING', 'SUCCEEDED'])
  await ctx.db.execute(sql`update deliveries set status = 'FAILED' where webhook_id = ${uuidOf(webhookId)}`)
  expect(await purgeDeliveries(ctx.db)).toBe(1)
})
