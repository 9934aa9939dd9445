import { hidesPlans } from '@rapport/testing/postgres/explain.ts'
import {
  createTestCampaign,
  createTestCompany,
  createTestContact,
  createTestCtx,
  createTestList,
  createTestPipeline,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, test } from 'vitest'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { transaction } from '../db/transaction.ts'
import { uuidOf } from '../kernel/ids.ts'
import { setTrackingConsent } from '../operations/contacts/tracking-consent.ts'
import { compileFilter, type FilterOptions } from './compile-filter.ts'
import { ContactFilter } from './filter.schema.ts'

const database = useTestDatabase()
const world = useForFile(async () => {
  const ctx = await createTestCtx(database.db)
  for (const [key, type] of Object.entries({
    note: 'TEXT',
    seats: 'NUMBER',
    isVip: 'BOOLEAN',
    renewal: 'DATE',
  } as const))
    await createCustomField(ctx, { key, label: key, type, options: [] })
  await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'SELECT', options: ['pro'] })
  await createCustomField(ctx, { object: 'COMPANY', key: 'tier', label: 'Tier', type: 'SELECT', options: ['gold'] })
  return {
    ctx,
    list: (await createTestList(ctx)).id,
    campaign: (await createTestCampaign(ctx)).id,
    pipelineId: (await createTestPipeline(ctx)).id,
    id: (await createTestCompany(ctx)).id,
  }
})

interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Recheck Cond'?: string
  Filter?: string
  Plans?: Node[]
}

/** The scans of tables in a plan. An index scan for a bitmap has its condition in the scan above it too. */
const scansOf = (node: Node): Node[] => [
  ...(node['Relation Name'] === undefined ? [] : [node]),
  ...(node.Plans ?? []).flatMap(scansOf),
]

/** The plans of the statement, whatever its tables contain: with each setting, the planner prefers other nodes. */
async function explain(filter: unknown): Promise<Node[]> {
  const { ctx } = world
  const condition = await compileFilter(ctx, ContactFilter.parse(filter))
  const statement = sql`explain (format json) select id from contacts
    where contacts.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and ${condition}`
  const settings = [{}, { enable_seqscan: 'off' }, { enable_indexscan: 'off', enable_bitmapscan: 'off' }]
  const plans = settings.map((set) =>
    transaction(ctx.db, (db) => db.execute<{ 'QUERY PLAN': [{ Plan: Node }] }>(statement), set),
  )
  return (await Promise.all(plans)).flatMap(({ rows }) => rows.map((row) => row['QUERY PLAN'][0].Plan))
}

const fields = {
  email: {
    eq: 'a@example.com',
    ne: 'b@example.com',
    in: ['a@example.com', 'b@example.com'],
    contains: 'a',
    startsWith: 'a',
    isSet: true,
  },
  firstName: { eq: 'a', ne: 'a', in: ['a', 'b'], contains: 'a', startsWith: 'a', isSet: false },
  emailSubscribedStatus: { eq: 'NONE', ne: 'NONE', in: ['NONE'] },
  lastActivityAt: { before: '2026-11-21', after: '2026-11-21', within: '1d', notWithin: '1d', isSet: false },
  'customFieldValues.note': { eq: 'a', ne: 'a', in: ['a', 'b'], contains: 'a', startsWith: 'a', isSet: false },
  'customFieldValues.plan': { eq: 'pro', ne: 'pro', in: ['pro'], isSet: true },
  'customFieldValues.seats': { eq: 1, ne: 1, lt: 1, lte: 1, gt: 1, gte: 1, isSet: true },
  'customFieldValues.isVip': { eq: true, ne: true },
  'customFieldValues.renewal': { before: '2026-11-21', after: '2026-11-21', within: '1d', notWithin: '1d' },
}
const leaves = [
  ...Object.entries(fields).flatMap(([field, operators]) =>
    Object.entries(operators).map(([operator, value]) => ({ field, [operator]: value })),
  ),
  { tags: { has: 'vip' } },
  { tags: { hasAny: ['vip', 'new'] } },
  { list: true },
  { list: true, status: 'CONFIRMED' },
  ...['receive', 'open', 'click'].flatMap((did) =>
    ['any', true].flatMap((campaign) => [
      { campaign, did },
      { campaign, did, within: '30d' },
    ]),
  ),
  { deal: {} },
  { deal: { status: 'OPEN' } },
  { deal: { pipelineId: true } },
  { deal: { valueCents: { gte: 1 } } },
  { company: {} },
  { company: { id: true } },
  { company: { domain: 'acme.example', tags: { has: 'vip' } } },
  { company: { 'customFieldValues.tier': 'gold', name: { contains: 'a' } } },
]
/** Names the records of this run. */
const withIds = (leaf: unknown): unknown =>
  JSON.parse(JSON.stringify(leaf), (key, value: unknown) =>
    value === true && Object.hasOwn(world, key) ? world[key as 'list' | 'campaign' | 'pipelineId' | 'id'] : value,
  )

test.skipIf(hidesPlans).each(leaves.map((leaf) => [leaf]))(
  '%j and its negation read no table of other workspaces',
  async (leaf) => {
    for (const filter of [withIds(leaf), { not: withIds(leaf) }]) {
      const scans = (await explain(filter)).flatMap(scansOf)
      expect(scans.length).toBeGreaterThan(0)
      for (const scan of scans) {
        const { 'Relation Name': table, 'Index Cond': index, 'Recheck Cond': recheck, Filter: condition } = scan
        expect([table, `${index} ${recheck} ${condition}`]).toEqual([table, expect.stringContaining('workspace_id =')])
      }
    }
  },
)

describe.skipIf(hidesPlans)('a statement that reads all contacts of a list', () => {
  beforeAll(async () => {
    const { ctx } = world
    await ctx.db.execute(sql`
      insert into contacts (workspace_id, id, email)
      select ${uuidOf(ctx.workspaceId)}::uuid, uuidv7(), 'all' || n || '@example.com' from generate_series(1, 1000) n`)
    await ctx.db.execute(sql`analyze contacts`)
  })

  async function explainAll(filter: unknown, options: FilterOptions) {
    const { ctx } = world
    const condition = await compileFilter(ctx, ContactFilter.parse(filter), options)
    const { rows } = await ctx.db.execute<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(sql`
      explain (format json, verbose) select (${condition}) is true from contacts
      where contacts.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and ${condition}`)
    return rows[0]?.['QUERY PLAN'][0].Plan
  }

  test('is planned for many that have the value of a custom field', async () => {
    const filter = { field: 'customFieldValues.note', eq: 'a' }
    expect((await explainAll(filter, {}))?.['Plan Rows']).toBeLessThan(10)
    expect((await explainAll(filter, { readsAll: true }))?.['Plan Rows']).toBeGreaterThan(100)
  })

  test('reads once whose opens may be unseen, also if contacts chose about tracking', async () => {
    const { ctx } = world
    await setTrackingConsent(ctx, (await createTestContact(ctx)).id, { opens: 'DENIED' })
    const plan = await explainAll({ not: { campaign: 'any', did: 'open', within: '30d' } }, { readsAll: true })
    expect(JSON.stringify(plan)).toContain('hashed SubPlan')
    // A look at the campaign of each email makes the reading as expensive as the campaigns are many.
    expect(JSON.stringify(plan)).not.toContain('"Relation Name":"campaigns"')
  })
})
