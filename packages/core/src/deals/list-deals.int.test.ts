import { sql } from 'drizzle-orm'
import { beforeAll, expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { type ContactId, newId, type UserId, uuidOf } from '../kernel/ids.ts'
import type { Pipeline } from '../pipelines/pipelines.schema.ts'
import { summarizePipeline } from '../pipelines/pipeline-summary.ts'
import { explainSelects, hidesPlans } from '@rapport/testing/postgres/explain.ts'
import {
  createTestContact,
  createTestCtx,
  createTestDeal,
  createTestMember,
  createTestPipeline,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { listDeals } from './list-deals.ts'
import { updateDeal } from './update-deal.ts'
import { DealQuery } from './deals.schema.ts'

const database = useTestDatabase()
let ctx: Ctx
let sales: Pipeline
let ada: ContactId
let owner: UserId
let wonAt = ''
beforeAll(async () => {
  ctx = await createTestCtx(database.db)
  sales = await createTestPipeline(ctx, ['a', 'b'])
  ada = (await createTestContact(ctx)).id
  owner = await createTestMember(ctx)
  const pipelineId = sales.id
  await createTestDeal(ctx, {
    name: 'one',
    pipelineId,
    contactId: ada,
    valueCents: 30,
    ownerId: owner,
    expectedCloseOn: '2026-12-31',
  })
  const two = await createTestDeal(ctx, { name: 'two', pipelineId, stageId: stage('b'), valueCents: 10 })
  const three = await createTestDeal(ctx, { name: 'three', contactId: ada, valueCents: 20 })
  await createTestDeal(ctx, { name: 'four', pipelineId, valueCents: 20, expectedCloseOn: '2026-12-01' })
  await updateDeal(ctx, three.id, { status: 'LOST', lostReason: 'Price' })
  wonAt = (await updateDeal(ctx, two.id, { status: 'WON' })).closedAt ?? ''
  await createTestDeal(await createTestCtx(database.db), { name: 'elsewhere' })
})

const stage = (name: string) => sales.stages.find((one) => one.name === name)?.id ?? newId('stg')
const find = async (query: Record<string, string>) =>
  (await listDeals(ctx, DealQuery.parse(query))).data.map(({ name }) => name)
const shifted = (ms: number) => new Date(Date.parse(wonAt) + ms).toISOString()

test.each([
  [{}, ['four', 'three', 'two', 'one']],
  [{ pipelineId: () => sales.id }, ['four', 'two', 'one']],
  [{ stageId: () => stage('a') }, ['four', 'one']],
  [{ contactId: () => ada }, ['three', 'one']],
  [{ contactId: () => ada, status: 'OPEN' }, ['one']],
  [{ status: 'WON' }, ['two']],
  [{ closedAfter: '2000-01-01T00:00:00Z' }, ['three', 'two']],
  [{ closedBefore: '9999-01-01T00:00:00Z' }, ['three', 'two']],
  [{ closedAfter: () => wonAt, status: 'WON' }, ['two']],
  [{ closedBefore: () => wonAt, status: 'WON' }, []],
  [{ updatedAfter: () => wonAt, status: 'WON' }, ['two']],
  [{ updatedBefore: () => wonAt, status: 'WON' }, []],
  [{ status: ['WON', 'LOST'] }, ['three', 'two']],
  [{ valueCentsMin: '20' }, ['four', 'three', 'one']],
  [{ valueCentsMin: '20', valueCentsMax: '20' }, ['four', 'three']],
  [{ valueCentsMax: '0' }, []],
  [{ search: 'O' }, ['four', 'two', 'one']],
  [{ search: ' Ône ' }, ['one']],
  [{ search: 'o%e' }, []],
  [{ closedAfter: () => shifted(-1), closedBefore: () => shifted(1), status: 'WON' }, ['two']],
  [{ createdAfter: '9000-01-01T00:00:00Z' }, []],
  [{ createdBefore: '9000-01-01T00:00:00Z', sort: 'createdAt' }, ['one', 'two', 'three', 'four']],
  [{ sort: '-valueCents', createdAfter: '2000-01-01T00:00:00Z' }, ['one', 'four', 'three', 'two']],
  [{ sort: '-closedAt', status: 'WON' }, ['two']],
  [{ sort: 'updatedAt' }, ['one', 'four', 'three', 'two']],
  [{ pipelineId: newId('pip') }, []],
  [{ ownerId: () => owner }, ['one']],
  [{ ownerId: newId('usr') }, []],
  [{ lostReason: 'Price' }, ['three']],
  [{ lostReason: 'price' }, []],
  [{ expectedCloseAfter: '2026-12-01', expectedCloseBefore: '2027-01-01' }, ['four', 'one']],
  [{ expectedCloseBefore: '2026-12-31' }, ['four']],
  [{ expectedCloseBefore: '2026-12-31T00:00:00.001Z' }, ['four', 'one']],
  [{ expectedCloseAfter: '2026-12-01T00:00:00.001Z' }, ['one']],
  [{ expectedCloseAfter: '9999-12-31T23:59:59.999Z' }, []],
  [{ expectedCloseBefore: '0001-01-01' }, []],
] as [Record<string, string | string[] | (() => string)>, string[]][])('%o returns %j', async (query, expected) => {
  const entries = Object.entries(query).map(([name, value]) => [name, typeof value === 'function' ? value() : value])
  expect(await find(Object.fromEntries(entries) as Record<string, string>)).toEqual(expected)
})

test.each(['createdAt', 'updatedAt', 'valueCents', 'closedAt'])(
  'pages sorted by %s contain each deal once in both directions',
  async (sort) => {
    for (const direction of ['', '-']) {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const query: Record<string, string> = { sort: `${direction}${sort}`, limit: '1', ...(cursor && { cursor }) }
        const page = await listDeals(ctx, DealQuery.parse(query))
        seen.push(...page.data.map(({ name }) => name))
        cursor = page.nextCursor
      } while (cursor)
      expect(seen).toEqual(await find({ sort: `${direction}${sort}` }))
      expect(new Set(seen).size).toBe(4)
    }
  },
)

test.skipIf(hidesPlans)('every list query uses an index, and a summary uses only an index', async () => {
  const big = await createTestCtx(database.db)
  const pipeline = await createTestPipeline(big, ['a', 'b', 'c', 'd'])
  const contact = await createTestContact(big)
  await database.db.execute(sql`
    insert into contacts (workspace_id, id, email)
    select ${uuidOf(big.workspaceId)}::uuid, uuidv7(), n || '@example.com' from generate_series(1, 500) n`)
  await database.db.execute(sql`
    insert into deals (workspace_id, id, pipeline_id, stage_id, contact_id, value_cents, status, closed_at, created_at, updated_at)
    select s.workspace_id, uuidv7(), s.pipeline_id, s.id, c.id, n, case when n % 10 = 0 then 'WON' else 'OPEN' end,
      case when n % 10 = 0 then now() - n * interval '1 second' end, now() - n * interval '1 second', now()
    from stages s, (select *, row_number() over () as n from contacts) c, generate_series(1, 10) g
    where s.pipeline_id = ${uuidOf(pipeline.id)} and c.workspace_id = s.workspace_id`)
  await database.db.execute(sql`vacuum analyze deals`)
  const moment = '2020-01-01T00:00:00Z'
  const queries: Record<string, string>[] = [
    {},
    { sort: 'updatedAt' },
    { sort: '-valueCents' },
    { sort: '-closedAt' },
    { pipelineId: pipeline.id },
    { stageId: pipeline.stages[0]?.id ?? '' },
    { stageId: pipeline.stages[0]?.id ?? '', status: 'OPEN', sort: 'valueCents' },
    { contactId: contact.id },
    { status: 'LOST' },
    { createdBefore: moment },
    { closedAfter: moment },
    { closedBefore: moment },
    { updatedAfter: moment },
    { valueCentsMin: '100', sort: '-valueCents' },
    { search: 'unknown' },
    { ownerId: newId('usr') },
    { expectedCloseBefore: moment },
  ]
  const of = { ctx: big, table: 'deals' }
  for (const query of queries) {
    const plans = await explainSelects(database, of, (ctx) => listDeals(ctx, DealQuery.parse(query)))
    expect([query, ...plans]).toEqual([query, expect.not.stringContaining('Seq Scan on deals')])
  }
  const [summary = ''] = await explainSelects(database, of, (ctx) => summarizePipeline(ctx, pipeline.id))
  expect(summary).toMatch(/Index Only Scan using deals_open_index/)
})
