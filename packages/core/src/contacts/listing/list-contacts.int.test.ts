import { hidesPlans } from '@rapport/testing/postgres/explain.ts'
import { sql } from 'drizzle-orm'
import { beforeAll, expect, test } from 'vitest'
import type { Ctx } from '../../request/context.ts'
import {
  createTestContact,
  createTestCtx,
  createTestDeal,
  createTestList,
} from '@rapport/testing/fixtures/factories.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { newId, uuidOf } from '../../kernel/ids.ts'
import { listContacts } from './list-contacts.ts'
import { type Contact } from '../contacts.schema.ts'
import { ContactQuery } from './contact-query.schema.ts'
import { updateContact } from '../update-contact.ts'
import { createCustomField } from '../../custom-fields/custom-fields.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeAll(async () => {
  ctx = await createTestCtx(database.db)
  await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'SELECT', options: ['free', 'pro'] })
  await createCustomField(ctx, { key: 'seats', label: 'Seats', type: 'NUMBER', options: [] })
  await createTestContact(ctx, {
    email: 'ada@example.com',
    firstName: 'Ada',
    lastName: 'Lovelace',
    phone: '+44 20 7946 0958',
    tags: ['vip', 'math'],
    customFieldValues: { plan: 'pro', seats: 3 },
    source: 'import',
  })
  await createTestContact(ctx, { email: 'grace@example.org', firstName: 'Grace', lastName: 'Hopper', tags: ['vip'] })
  await createTestContact(ctx, { email: 'john@example.edu', firstName: 'John' })
  await createTestContact(ctx, { email: 'gabo@example.info', firstName: 'Gabriel', lastName: 'García Márquez' })
  await createTestContact(ctx, { email: 'strasse@example.de', company: 'Straße des 17. Juni', lastName: 'Marquez' })
  await createTestContact(ctx, { email: 'mueller@example.at', firstName: 'Jürgen', lastName: 'Mueller' })
  await createTestContact(ctx, { email: 'muller@example.ch', firstName: 'Søren', lastName: 'Müller' })
  await createTestContact(ctx, {
    email: 'percent@example.net',
    company: '100% wool_and\\more',
    customFieldValues: { seats: 30 },
  })
})

async function find(query: Record<string, string | string[]>): Promise<string[]> {
  const page = await listContacts(ctx, ContactQuery.parse(query))
  return page.data.map((contact) => contact.email.split('@')[0] ?? '')
}

test.each([
  [{ search: 'lovel' }, ['ada']],
  [{ search: 'LOVELACE' }, ['ada']],
  [{ search: 'lovelase' }, ['ada']],
  [{ search: 'hoper' }, ['grace']],
  [{ search: 'example.org' }, ['grace']],
  [{ search: 'jonh' }, ['john']],
  [{ search: 'marquez' }, ['strasse', 'gabo']],
  [{ search: 'MÁRQUEZ' }, ['strasse', 'gabo']],
  [{ search: 'garcia marquez' }, ['gabo']],
  [{ search: 'Müller' }, ['muller', 'mueller']],
  [{ search: 'Mu\u0308ller' }, ['muller', 'mueller']],
  [{ search: 'mueller' }, ['mueller', 'muller']],
  [{ search: 'muller' }, ['muller']],
  [{ search: 'Sören' }, ['muller']],
  [{ search: 'soeren' }, ['muller']],
  [{ search: 'joel' }, []],
  [{ search: 'Strasse' }, ['strasse']],
  [{ search: 'STRAẞE' }, ['strasse']],
  [{ search: 'straße des' }, ['strasse']],
  [{ search: 'lovelace ada' }, ['ada']],
  [{ search: 'lovelaace ada' }, ['ada']],
  [{ search: 'ada lvoelace' }, ['ada']],
  [{ search: 'ada hopper' }, []],
  [{ search: 'lovelase aad' }, ['ada']],
  [{ search: 'Gabreil Garcai Marqez' }, ['gabo']],
  [{ search: 'lovelase hoper' }, []],
  [{ search: 'grcae' }, ['grace']],
  [{ search: 'gracie' }, ['grace']],
  [{ search: 'jhn@example.edu' }, ['john']],
  [{ search: 'wol_and' }, ['percent']],
  [{ search: 'w%ol_and' }, ['percent']],
  [{ search: 'wo%_and' }, []],
  [{ search: 'márqez' }, ['strasse', 'gabo']],
  [{ search: '7946' }, ['ada']],
  [{ search: '100%' }, ['percent']],
  [{ search: 'wool_and\\' }, ['percent']],
  [{ search: '%' }, ['percent']],
  [{ search: '_' }, ['percent']],
  [{ search: '\\' }, ['percent']],
  [{ search: 'zzzzzz' }, []],
  [{ tag: 'vip' }, ['grace', 'ada']],
  [{ tag: ['vip', 'math'] }, ['ada']],
  [{ tag: [], source: 'import' }, ['ada']],
  [{ email: 'ADA@example.com' }, ['ada']],
  [{ source: 'import' }, ['ada']],
  [{ 'customField.plan': 'pro' }, ['ada']],
  [{ 'customField.seats': '3' }, ['ada']],
  [
    { emailSubscribedStatus: 'NONE', sort: 'email' },
    ['ada', 'gabo', 'grace', 'john', 'mueller', 'muller', 'percent', 'strasse'],
  ],
  [{ sort: '-email' }, ['strasse', 'percent', 'muller', 'mueller', 'john', 'grace', 'gabo', 'ada']],
  [{ sort: 'lastActivityAt' }, ['ada', 'grace', 'john', 'gabo', 'strasse', 'mueller', 'muller', 'percent']],
  [
    { search: 'example', sort: 'createdAt' },
    ['ada', 'grace', 'john', 'gabo', 'strasse', 'mueller', 'muller', 'percent'],
  ],
  [{ createdBefore: '2000-01-01T00:00:00Z' }, []],
])('%j finds %j', async (query, expected) => {
  expect(await find(query as Record<string, string>)).toEqual(expected)
})

test.each([
  [{ 'customField.nope': '1' }, 'unknown custom field'],
  [{ 'customField.\u0000': '1' }, 'unknown custom field'],
  [{ 'customField.plan': 'gold' }, 'must be one of free, pro'],
  [{ 'customField.seats': 'many' }, 'must be a number'],
])('rejects %j', async (query, message) => {
  await expect(find(query as Record<string, string>)).rejects.toThrow(message)
})

test('every sort works in both directions, and updatedAfter finds what changed since', async () => {
  const own = await createTestCtx(database.db)
  const made: Contact[] = []
  for (const name of ['b', 'c', 'A', 'd']) made.push(await createTestContact(own, { email: `${name}@example.com` }))
  const [b, , a] = made
  const changed = await updateContact(own, b?.id ?? newId('con'), { firstName: 'Changed' })
  await createTestDeal(own, { contactId: a?.id ?? newId('con') })
  const list = async (query: Record<string, string>) =>
    (await listContacts(own, ContactQuery.parse(query))).data.map(({ email }) => email[0]).join('')
  const sorted = { createdAt: 'bcAd', updatedAt: 'cdbA', email: 'Abcd' }
  for (const [sort, expected] of Object.entries(sorted)) {
    expect([sort, await list({ sort })]).toEqual([sort, expected])
    expect([sort, await list({ sort: `-${sort}` })]).toEqual([sort, Array.from(expected).toReversed().join('')])
  }
  // Activity changes a contact too. Contacts without activity come last.
  expect(await list({ sort: '-lastActivityAt', limit: '1' })).toBe('A')
  expect((await list({ sort: 'lastActivityAt' })).at(-1)).toBe('A')
  const lastCreated = made.at(-1)?.createdAt ?? ''
  expect(Date.parse(changed.updatedAt)).toBeGreaterThanOrEqual(Date.parse(lastCreated))
  expect(await list({ updatedBefore: changed.updatedAt })).not.toContain('b')
  expect(await list({ updatedAfter: new Date(Date.parse(changed.updatedAt) - 1).toISOString() })).toContain('b')
})

test('rejects an unknown parameter and names it', () => {
  const result = ContactQuery.safeParse({ customfield: 'x' })
  expect(result.error?.issues).toMatchObject([{ code: 'unrecognized_keys', keys: ['customfield'] }])
})

test('folds accents under any search_path, as during a restore', async () => {
  const client = await database.pool.connect()
  await client.query(`begin; set local search_path = ''`)
  const result = await client.query<{ folded: string; body: string }>(
    `select public.fold_text('ÁRBOL Straße Łódź') as folded, pg_get_functiondef('public.fold_text'::regproc) as body`,
  )
  await client.query('rollback')
  client.release()
  expect(result.rows[0]).toEqual({
    folded: 'arbol strasse lodz',
    body: expect.stringContaining(`public.unaccent('public.unaccent'::regdictionary`),
  })
})

test('an exact match in another workspace does not disable typo tolerance', async () => {
  const [own, other] = [await createTestCtx(database.db), await createTestCtx(database.db)]
  const grace = await createTestContact(own, { firstName: 'Grace' })
  const grcae = await createTestContact(other, { firstName: 'Grcae' })
  const find = async (ctx: Ctx) => (await listContacts(ctx, ContactQuery.parse({ search: 'grcae' }))).data
  expect((await find(own)).map(({ id }) => id)).toEqual([grace.id])
  expect((await find(other)).map(({ id }) => id)).toEqual([grcae.id])
})

test.skipIf(hidesPlans)('every listing uses an index and never reads the whole table', async () => {
  const big = await createTestCtx(database.db)
  const list = await createTestList(big)
  await createCustomField(big, { key: 'plan', label: 'Plan', type: 'TEXT', options: [] })
  await database.db.execute(sql`
    insert into contacts (workspace_id, id, email, first_name, tags, custom_field_values, created_at)
    select ${uuidOf(big.workspaceId)}::uuid, uuidv7(), 'person' || n || '@example.com', 'Person ' || n,
      array['t' || n % 100], jsonb_build_object('plan', 'p' || n % 100), now() - n * interval '1 second'
    from generate_series(1, 20000) n`)
  await database.db.execute(sql`analyze contacts`)
  const { nextCursor } = await listContacts(big, ContactQuery.parse({ limit: '10' }))
  const queries: Record<string, string>[] = [
    {},
    { cursor: nextCursor ?? '' },
    { sort: 'createdAt' },
    { sort: '-updatedAt' },
    { sort: 'lastActivityAt' },
    { sort: 'email' },
    { email: 'person7@example.com' },
    { tag: 't7' },
    { 'customField.plan': 'p7' },
    { search: 'person777' },
    { search: 'persn 777' },
    { search: 'persn exmaple' },
    { search: 'margraet compny777' },
    { search: 'mueller schröder' },
    { search: 'person777', sort: 'email' },
    { listId: list.id },
    { source: 'import' },
    { emailSubscribedStatus: 'PENDING' },
    { createdAfter: '2000-01-01T00:00:00Z', updatedBefore: '2100-01-01T00:00:00Z' },
  ]
  for (const query of queries) expect({ query, plan: await plansOf(big, query) }).toMatchObject({ query, plan: [] })
})

/** An index scan that filters by `search_text` also reads the whole table. */
const isWalk = /Index Scan using \S+ on contacts\b.*\n.*Index Cond.*\n +Filter: .*search_text/

/** The plans of the listing's statements that read, or may read, all of `contacts`. */
async function plansOf(big: Ctx, query: Record<string, string>): Promise<string[]> {
  const statements = await recordStatements(database, big, (ctx) => listContacts(ctx, ContactQuery.parse(query)))
  const selects = statements.filter(({ text }) => /from "?contacts\b/.test(text))
  expect(selects.length).toBeGreaterThan(0)
  const client = await database.pool.connect()
  const plans: string[] = []
  await client.query('begin')
  for (const { text, values } of statements) {
    if (text.includes('set_config')) await client.query(text, values)
    if (!selects.some((select) => select.text === text)) continue
    const plan = planOf(await client.query(`explain ${text}`, values))
    // The generic plan, which prepared statements use.
    await client.query(`set local plan_cache_mode = force_generic_plan; prepare listing as ${text}`)
    const nulls = values.map(() => 'null').join(', ')
    const genericPlan = planOf(await client.query(`explain execute listing${nulls && `(${nulls})`}`))
    await client.query('deallocate listing; set local plan_cache_mode = auto')
    if (isWalk.test(plan)) plans.push(plan)
    plans.push(...[plan, genericPlan].filter((one) => one.includes('Seq Scan on contacts')))
  }
  await client.query('rollback')
  client.release()
  return plans
}

const planOf = ({ rows }: { rows: { 'QUERY PLAN': string }[] }) => rows.map((row) => row['QUERY PLAN']).join('\n')
