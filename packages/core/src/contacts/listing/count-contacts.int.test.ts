import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createTestContact, createTestCtx, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { confirmSubscribers } from '@rapport/testing/consent/confirm-subscribers.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { type Contact } from '../contacts.schema.ts'
import { ContactQuery } from './contact-query.schema.ts'
import { createCustomField } from '../../custom-fields/custom-fields.ts'
import { listContacts } from './list-contacts.ts'

const database = useTestDatabase()

const list = (ctx: Ctx, query: Record<string, string | string[]>) => listContacts(ctx, ContactQuery.parse(query))

async function count(ctx: Ctx, query: Record<string, string | string[]> = {}) {
  const { total, isEstimate } = await list(ctx, { ...query, count: 'true', limit: '1' })
  return { total, isEstimate }
}

async function fill(ctx: Ctx, contacts: number) {
  await database.db.execute(sql`
    insert into contacts (workspace_id, id, email, first_name, tags, created_at)
    select ${uuidOf(ctx.workspaceId)}::uuid, uuidv7(), 'person' || n || '@example.com', 'Person',
      array['t' || n % 2], now() - n * interval '1 second'
    from generate_series(1, ${contacts}::int) n`)
}

test('counts the contacts that match the filters, whatever the page', async () => {
  const ctx = await createTestCtx(database.db)
  await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'TEXT', options: [] })
  const newsletter = await createTestList(ctx)
  const people: Contact[] = []
  for (let n = 0; n < 5; n += 1) {
    const person = await createTestContact(ctx, {
      email: `person-${n}@example.com`,
      firstName: n < 3 ? 'Grace' : 'Ada',
      tags: n < 2 ? ['vip', 'math'] : ['vip'],
      source: n < 4 ? 'fair' : 'web',
      customFieldValues: n < 2 ? { plan: 'pro' } : {},
    })
    people.push(person)
  }
  await inTransaction(ctx, (ctx) => confirmSubscribers(ctx, { listId: newsletter.id, contacts: people.slice(1, 2) }))
  await createTestContact(await createTestCtx(database.db), { email: 'person-1@example.com', firstName: 'Grace' })
  const expected: [Record<string, string | string[]>, number][] = [
    [{}, 5],
    [{ email: 'PERSON-1@example.com' }, 1],
    [{ search: 'grace' }, 3],
    [{ search: 'grcae' }, 3],
    [{ search: 'grace', sort: 'email' }, 3],
    [{ search: 'nothing like it' }, 0],
    [{ tag: 'vip' }, 5],
    [{ tag: ['vip', 'math'] }, 2],
    [{ listId: newsletter.id }, 1],
    [{ emailSubscribedStatus: 'SUBSCRIBED' }, 1],
    [{ source: 'fair' }, 4],
    [{ createdAfter: '2100-01-01T00:00:00Z' }, 0],
    [{ updatedBefore: '2100-01-01T00:00:00Z' }, 5],
    [{ 'customField.plan': 'pro', tag: 'math' }, 2],
  ]
  for (const [query, total] of expected)
    expect({ query, ...(await count(ctx, query)) }).toEqual({ query, total, isEstimate: false })
})

test('the count is the same on every page, and absent unless it is asked for', async () => {
  const ctx = await createTestCtx(database.db)
  for (let n = 0; n < 3; n += 1) await createTestContact(ctx)
  const first = await list(ctx, { limit: '2', count: 'true' })
  expect(first).toEqual({ data: expect.any(Array), nextCursor: expect.any(String), total: 3, isEstimate: false })
  const second = await list(ctx, { limit: '2', count: 'true', cursor: first.nextCursor ?? '' })
  expect(second).toEqual({ data: [expect.anything()], nextCursor: null, total: 3, isEstimate: false })
  for (const query of [{}, { count: 'false' }])
    expect(Object.keys(await list(ctx, query))).toEqual(['data', 'nextCursor'])
})

test('is exact for 10,000 contacts, then an estimate that is never lower', async () => {
  const ctx = await createTestCtx(database.db)
  await fill(ctx, 10_000)
  expect(await count(ctx)).toEqual({ total: 10_000, isEstimate: false })
  await createTestContact(ctx)
  // Without statistics, the planner expects fewer contacts.
  const early = await count(ctx)
  expect(early.isEstimate).toBe(true)
  expect(early.total).toBeGreaterThan(10_000)
})

test('the estimate follows the statistics of the filters', async () => {
  const ctx = await createTestCtx(database.db)
  await fill(ctx, 30_000)
  await database.db.execute(sql`analyze contacts`)
  const { total: all = 0, isEstimate } = await count(ctx)
  expect(isEstimate).toBe(true)
  expect(all).toBeGreaterThan(25_000)
  expect(all).toBeLessThan(35_000)
  const { total: tagged = 0 } = await count(ctx, { tag: 't1' })
  expect(tagged).toBeGreaterThan(10_000)
  expect(tagged).toBeLessThan(20_000)
  expect(await count(ctx, { search: 'person777@' })).toEqual({ total: 1, isEstimate: false })
})
