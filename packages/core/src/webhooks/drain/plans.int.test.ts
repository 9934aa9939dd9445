/** Query plans of the drain statements. A connection plans them once; the tables may change completely afterwards. */
import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  asEnded,
  claimTestDrain,
  drainTestBacklog,
  insertDeliveries,
  recordTestOutcomes,
} from '@rapport/testing/fixtures/webhook-drain.ts'
import { createTestCtx, createTestWebhook, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type Database, openDatabase } from '../../db/client.ts'
import { transaction } from '../../db/transaction.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { findBacklogs } from './find-backlogs.ts'
import { nodesOf, type PlanNode, hidesPlans, readMajorVersion } from '@rapport/testing/postgres/explain.ts'
import { indexScanSettings } from './index-scan-settings.ts'

const database = useTestDatabase()
let ctx: Ctx
let workerId: string
beforeAll(async () => {
  ctx = await createTestCtx(database.db)
  workerId = await createTestWorker(database.db)
})

const isDeliveries = (node: PlanNode) => /^deliveries(_|$)/.test(node['Relation Name'] ?? '')
/** Excludes CTEs, which have few rows, and what a limit cuts: the drain sorts only the few deliveries that it deals. */
const unlimitedInputsOf = (node: PlanNode): PlanNode[] => [
  node,
  ...(node.Plans ?? [])
    .filter((plan) => plan['Parent Relationship'] !== 'InitPlan' && plan['Node Type'] !== 'Limit')
    .flatMap(unlimitedInputsOf),
]
const isSort = (node: PlanNode) => node['Node Type'].endsWith('Sort')

/** Replaces the names of partition indexes by the names of the indexes of the partitioned table. */
async function nameIndexes(nodes: readonly PlanNode[]): Promise<PlanNode[]> {
  const { rows } = await database.pool.query<{ child: string; parent: string }>(
    'select inhrelid::regclass::text as child, inhparent::regclass::text as parent from pg_inherits',
  )
  const parents = new Map(rows.map(({ child, parent }) => [child, parent]))
  return nodes.map((node) => {
    const index = node['Index Name']
    return index === undefined ? node : { ...node, 'Index Name': parents.get(index) ?? index }
  })
}

/** Opens a connection and runs each statement once on it. */
async function openPrepared(): Promise<Database> {
  const connection = openDatabase(database.url, {
    applicationName: 'rapport test',
    maxConnections: 1,
    onError: () => {},
  })
  onTestFinished(() => connection.close())
  const on = { ...ctx, db: connection.db }
  await insertDeliveries(ctx, (await createTestWebhook(ctx)).id)
  const { claim, take } = await claimTestDrain(on, { workerId, limit: 1 })
  await recordTestOutcomes(on, claim, { ended: asEnded(take?.deliveries ?? []) })
  await findBacklogs(connection.db)
  return connection
}

const reading = ['claim a drain', 'take deliveries', 'find backlogs'] as const
const statements = [...reading, 'record outcomes', 'update the health of webhooks'] as const

/**
 * Returns the plan nodes of each prepared statement, with the planner settings of production. Explains the generic plan,
 * which PostgreSQL chooses after some executions: the plan for values would not show a bad choice for other values.
 */
async function explainPrepared({ db }: Database): Promise<Record<string, PlanNode[]>> {
  return transaction(
    db,
    async (db) => {
      const prepared = await db.execute<{ name: string; parameters: number }>(
        sql`select name, cardinality(parameter_types) as parameters from pg_prepared_statements`,
      )
      const plans: Record<string, PlanNode[]> = {}
      for (const { name, parameters } of prepared.rows) {
        const values = Array.from({ length: parameters }, () => 'null').join(', ')
        const { rows } = await db.execute<{ 'QUERY PLAN': { Plan: PlanNode; JIT?: object }[] }>(
          sql.raw(`explain (format json) execute "${name}"(${values})`),
        )
        const explained = rows[0]?.['QUERY PLAN'] ?? []
        expect([name, explained.map(({ JIT }) => JIT)]).toEqual([name, [undefined]])
        plans[name] = await nameIndexes(explained.flatMap(({ Plan }) => nodesOf(Plan)))
      }
      return plans
    },
    { ...indexScanSettings, plan_cache_mode: 'force_generic_plan' },
  )
}

const indexesOfDeliveries = (nodes: PlanNode[] = []) => [
  ...new Set(nodes.filter(isDeliveries).flatMap((node) => node['Index Name'] ?? [])),
]

async function expectIndexScans(connection: Database): Promise<void> {
  const plans = await explainPrepared(connection)
  expect(Object.keys(plans)).toEqual(expect.arrayContaining([...statements]))
  for (const name of statements) {
    const nodes = plans[name] ?? []
    const scans = nodes.filter((node) => /(Seq|Bitmap .*) Scan$/.test(node['Node Type']))
    expect([name, scans]).toEqual([name, []])
    const sorts = nodes.filter((node) => isSort(node) && unlimitedInputsOf(node).some(isDeliveries))
    expect([name, sorts]).toEqual([name, []])
    expect([name, nodes.filter((node) => node['Subplans Removed'])]).toEqual([name, []])
  }
  const key = 'deliveries_workspace_id_webhook_id_id_pk'
  for (const name of reading) expect(indexesOfDeliveries(plans[name])).toEqual(['deliveries_pending_index'])
  expect(indexesOfDeliveries(plans['record outcomes'])).toEqual([key])
  const conditions = (name: string) =>
    (plans[name] ?? []).filter((node) => isDeliveries(node) && node['Index Name']).map((node) => node['Index Cond'])
  for (const condition of conditions('take deliveries')) {
    expect(condition).toMatch(/workspace_id = .* AND .*webhook_id = /)
  }
  // PostgreSQL 16 and older look up the ids only if the statistics show rows, which autovacuum collects within a minute.
  if ((await readMajorVersion(database)) < 17) return
  for (const condition of conditions('record outcomes')) expect(condition).toMatch(/webhook_id = .* AND .*\bid = /)
}

describe('the statements of a drain use index scans if they are planned', () => {
  const truncate = () => database.pool.query('truncate deliveries, webhook_health')
  const analyze = () => database.pool.query('analyze')
  async function insertMany(pending: number, succeeded: number) {
    for (let webhooks = 0; webhooks < 5; webhooks++) {
      const { id } = await createTestWebhook(ctx)
      if (succeeded) await insertDeliveries(ctx, id, { count: succeeded, status: 'SUCCEEDED', ageMs: 3_600_000 })
      if (pending) await insertDeliveries(ctx, id, { count: pending })
    }
  }

  test.skipIf(hidesPlans)('while the tables are empty and were never analyzed', async () => {
    await expectIndexScans(await openPrepared())
  })

  test.skipIf(hidesPlans)('while the tables are empty and analyzed', async () => {
    await truncate()
    await analyze()
    await expectIndexScans(await openPrepared())
  })

  test.skipIf(hidesPlans)('while all deliveries are PENDING', async () => {
    await truncate()
    await insertMany(2_000, 0)
    await analyze()
    await expectIndexScans(await openPrepared())
  })

  test.skipIf(hidesPlans)('while nearly all deliveries have ended', async () => {
    await truncate()
    await insertMany(10, 4_000)
    await analyze()
    await expectIndexScans(await openPrepared())
  })

  test.skipIf(hidesPlans)('while no delivery is PENDING, and run with thousands of PENDING ones', async () => {
    await truncate()
    await insertMany(0, 2_000)
    await analyze()
    const connection = await openPrepared()
    await insertMany(2_000, 0)
    await expectIndexScans(connection)
  })
})

test.skipIf(hidesPlans)('a drain that is planned with empty tables reads each delivery only a few times', async () => {
  await database.pool.query('truncate deliveries, webhook_health')
  const on = { ...ctx, db: (await openPrepared()).db }
  const { id } = await createTestWebhook(ctx)
  await insertDeliveries(ctx, id, { count: 5_000, status: 'SUCCEEDED', ageMs: 3_600_000 })
  await insertDeliveries(ctx, id, { count: 2_000 })
  // As above: without statistics, PostgreSQL 16 and older read all deliveries of the webhook to find some by id.
  if ((await readMajorVersion(database)) < 17) await database.pool.query('analyze deliveries')
  const before = await countReadRows(on)
  expect(await drainTestBacklog(on, { workerId })).toHaveLength(2_000)
  // Usually 7 rows per delivery; 700 if each step reads all. PostgreSQL 16 and older may read 10,000 rows for a step.
  expect((await countReadRows(on)) - before).toBeLessThan((await readMajorVersion(database)) < 17 ? 1_200_000 : 250_000)
})

test.skipIf(hidesPlans)('a page of backlogs reads only webhooks of its workspaces', async () => {
  await database.pool.query(
    `with webhook as (
      insert into webhooks (workspace_id, id, url, event_types, encrypted_secret)
      select $1, uuidv7(), 'https://example.com', '{*}', '' from generate_series(1, 500) returning workspace_id, id)
    insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
    select workspace_id, uuidv7(), id, uuidv7(), 'contact.created' from webhook`,
    [uuidOf((await createTestCtx(database.db)).workspaceId)],
  )
  await database.pool.query('analyze')
  const { 'find backlogs': nodes = [] } = await explainPrepared(await openPrepared())
  const scans = nodes.filter((node) => node['Relation Name'] === 'webhooks')
  expect(scans).toHaveLength(2)
  for (const scan of scans) expect(scan['Index Cond']).toMatch(/workspace_id = /)
})

/** Counts the rows of deliveries that index scans and sequential scans have read. */
async function countReadRows({ db }: Ctx): Promise<number> {
  await db.execute(sql`select pg_stat_force_next_flush()`)
  const { rows } = await database.pool.query<{ count: string }>(`
    select (select sum(seq_tup_read) from pg_stat_user_tables where relname like 'deliveries%')
      + (select sum(idx_tup_read) from pg_stat_user_indexes where relname like 'deliveries%') as count`)
  return Number(rows[0]?.count)
}
