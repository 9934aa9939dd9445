import { beforeAll, expect, test } from 'vitest'
import { createTestWebhook, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { drainTestBacklog, insertDeliveries } from '@rapport/testing/fixtures/webhook-drain.ts'
import { hidesPlans, nodesOf, type PlanNode } from '@rapport/testing/postgres/explain.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import type { WebhookId } from '../kernel/ids.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'
import { redeliverMany } from './delivery-log.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const hourMs = 3_600_000
let workerId: string
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})

/** Inserts events, each with a delivery that has failed. */
async function insertFailed(id: WebhookId, { count, ageMs }: { count: number; ageMs: number }): Promise<void> {
  for (let n = 0; n < count; n++) await insertDeliveries(ctx, id, { ageMs: ageMs - n })
  await drainTestBacklog(ctx, { workerId, outcome: { status: 'FAILED' } })
}

/** Explains the statement that counts, with the number of deliveries that it reads. */
async function countReads(work: (of: typeof ctx) => Promise<unknown>): Promise<number> {
  const statements = await recordStatements(database, ctx, work)
  const counts = statements.filter(({ text }) => text.includes('as queued'))
  expect(counts).toHaveLength(1)
  const { rows } = await database.pool.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>({
    text: `explain (analyze, format json) ${counts[0]?.text}`,
    values: counts[0]?.values ?? [],
  })
  const nodes = (rows[0]?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => nodesOf(Plan))
  const reads = nodes.filter((node) => node['Relation Name']?.startsWith('deliveries')) as (PlanNode & Counts)[]
  expect(reads.length).toBeGreaterThan(0)
  return reads.reduce(
    (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    0,
  )
}

interface Counts {
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
}

test.skipIf(hidesPlans)('redelivering what failed in an old hour reads nothing else', async () => {
  const { id } = await createTestWebhook(ctx)
  await insertFailed(id, { count: 5, ageMs: 5 * hourMs })
  await insertFailed(id, { count: 3, ageMs: 2 * hourMs })
  for (const hours of [20, 1])
    await insertDeliveries(ctx, id, { count: 10_000, ageMs: hours * hourMs, status: 'SUCCEEDED' })
  await database.pool.query('vacuum analyze deliveries')
  const ago = (hours: number) => timestampAt(Date.now() - hours * hourMs)
  const input = { createdAfter: ago(6), createdBefore: ago(4) }
  expect(await countReads((of) => redeliverMany(of, id, { ...input, dryRun: true }))).toBe(5)
  expect(await redeliverMany(ctx, id, { ...input, dryRun: false })).toEqual({ queued: 5 })
  expect(await redeliverMany(ctx, id, { ...input, dryRun: false })).toEqual({ queued: 0 })
})
