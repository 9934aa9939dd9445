/**
 * PostgreSQL 18.4 crashes with a segmentation fault, which ends all connections, if a statement that locks rows prunes
 * partitions by a parameter and then waits for a row that is being changed. No statement that locks deliveries does.
 */
import { sql } from 'drizzle-orm'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import {
  asEnded,
  claimTestDrain,
  insertDeliveries,
  recordTestOutcomes,
} from '@rapport/testing/fixtures/webhook-drain.ts'
import {
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { hidesPlans, nodesOf, type PlanNode } from '@rapport/testing/postgres/explain.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { recoverOrphanedClaims } from '../../operations/recovery/recover-claims.ts'
import { interruptRestoredWork } from '../../operations/recovery/restored-backup.ts'
import type { Ctx } from '../../request/context.ts'
import { disableWebhooks } from '../webhooks.ts'
import { expireDeliveries, purgeDeliveries } from './abandoned-deliveries.ts'

const database = useTestDatabase()
let ctx: Ctx
let workerId: string
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})

beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

const isDeliveries = (node: PlanNode) => /^deliveries(_|$)/.test(node['Relation Name'] ?? '')

/** Explains each statement of `work` that changes deliveries. */
async function explainWrites(work: (ctx: Ctx) => Promise<unknown>): Promise<PlanNode[][]> {
  const found = await recordStatements(database, ctx, work)
  const writes = found.filter(({ text }) => /update deliveries|delete from deliveries/.test(text))
  const plans = writes.map(async ({ text, values }) => {
    const { rows } = await database.pool.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>({
      text: `explain (format json) ${text}`,
      values,
    })
    return (rows[0]?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => nodesOf(Plan))
  })
  return Promise.all(plans)
}

async function createInFlightAndPending({ ageMs = 60_000 } = {}) {
  const { id } = await createTestWebhook(ctx)
  await insertDeliveries(ctx, id, { count: 3, ageMs })
  const { claim, take } = await claimTestDrain(ctx, { workerId, limit: 1 })
  expect(take?.deliveries).toHaveLength(1)
  return claim
}
const dayMs = 86_400_000

test.skipIf(hidesPlans).each<[string, (ctx: Ctx) => Promise<unknown>]>([
  [
    'failing a backlog',
    async (ctx) => {
      const claim = await createInFlightAndPending()
      await disableWebhooks({ ...ctx, db: database.db })
      await recordTestOutcomes(ctx, claim, {})
    },
  ],
  [
    'expiring',
    async (ctx) => {
      await createInFlightAndPending({ ageMs: 31 * dayMs })
      await expireDeliveries(ctx.db)
    },
  ],
  [
    'purging',
    async (ctx) => {
      const { id } = await createTestWebhook(ctx)
      await insertDeliveries(ctx, id, { ageMs: 40 * dayMs, status: 'SUCCEEDED' })
      await purgeDeliveries(ctx.db)
    },
  ],
  [
    'recovery',
    async (ctx) => {
      await createInFlightAndPending()
      await expireWorkerHeartbeat(ctx.db, workerId)
      await recoverOrphanedClaims(ctx.db)
    },
  ],
  [
    'interrupting restored work',
    async (ctx) => {
      await createInFlightAndPending()
      await interruptRestoredWork(ctx.db, undefined)
    },
  ],
])('no partition is pruned in %s', async (_name, work) => {
  const plans = await explainWrites(work)
  expect(plans.length).toBeGreaterThan(0)
  for (const nodes of plans) {
    expect(nodes.filter(isDeliveries).length).toBeGreaterThan(0)
    expect(nodes.filter((node) => node['Subplans Removed'])).toEqual([])
  }
})

test('an outcome can wait for a row that is being changed', async () => {
  const { id } = await createTestWebhook(ctx)
  const uuids = await insertDeliveries(ctx, id, { count: 3 })
  const { claim } = await claimTestDrain(ctx, { workerId, limit: 2 })
  for (const [index, status] of ['PENDING', 'INTERRUPTED'].entries()) {
    const [uuid = ''] = uuids.slice(index)
    const changing = await openTransaction(database.db, (db) =>
      db.execute(sql`update deliveries set status = ${status}, error = 'changed' where id = ${uuid}`),
    )
    const recording = recordTestOutcomes(ctx, claim, { ended: asEnded([uuid]), inFlight: uuids.slice(index + 1, 2) })
    await waitUntilBlocked(database.db)
    await changing.commit()
    expect(await recording).toBeDefined()
  }
  const query = 'select status from deliveries where webhook_id = $1 order by id'
  const { rows } = await database.pool.query(query, [uuidOf(id)])
  expect(rows.map(({ status }) => status as string)).toEqual(['SUCCEEDED', 'INTERRUPTED', 'PENDING'])
})
