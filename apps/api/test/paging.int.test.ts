import { type EventId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { countRuns, isFullRun } from '@rapport/testing/runs.ts'
import { beforeAll, expect, test } from 'vitest'
import { createParents, fillListings, listings, pathOf, readListingTemplates, waitForFeed } from './listings.ts'
import { expectError, freshEmail, startTestApi } from './testing.ts'

interface Item {
  id: string
  /** Instead of `id` in listings of subscribers and recipients. */
  contactId: string
  email: string
  createdAt: string
  updatedAt: string
}
interface Page {
  data: Item[]
  nextCursor: string | null
}

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const fixture = useForFile(() => createParents(api, workspace))
/** The query for newest first, where the default order differs. */
const newestFirst: Record<string, string> = {
  '/tasks': 'sort=-createdAt&',
  '/contacts/{contactId}/tasks': 'sort=-createdAt&',
}
const recordsEach = 5
beforeAll(async () => {
  await fillListings(fixture, recordsEach)
  await waitForFeed(api)
})

const getPage = (template: string, query = '', key = workspace.token) =>
  api.call<Page>('GET', `${pathOf(template, fixture)}?${query}`, { key })

const idOf = (item: Item) => item.id ?? item.contactId

/** Reads all pages, and calls `between` after each. */
async function readAll(path: string, query: string, between: () => Promise<unknown> = () => Promise.resolve()) {
  const pages: Item[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body }: { status: number; body: Page } = await getPage(
      path,
      `${query}${cursor && `&cursor=${cursor}`}`,
    )
    expect(status).toBe(200)
    pages.push(body.data)
    cursor = body.nextCursor
    await between()
  }
  return pages
}

test('this file covers every listing of the API', async () => {
  // Event types are not records of a workspace: see events.int.test.ts.
  const templates = (await readListingTemplates(api)).filter((template) => template !== '/event-types')
  expect(templates.toSorted()).toEqual(listings.toSorted())
})

test.each(listings)('%s returns each record once, newest first', async (path) => {
  const usual = newestFirst[path] ?? ''
  const whole = (await getPage(path, `${usual}limit=100`)).body
  expect(whole.nextCursor).toBeNull()
  expect(whole.data.length).toBeGreaterThanOrEqual(recordsEach)
  const sorted = whole.data.toSorted((a, b) =>
    a.createdAt < b.createdAt || (a.createdAt === b.createdAt && idOf(a) < idOf(b)) ? 1 : -1,
  )
  expect(whole.data).toEqual(sorted)
  const { length } = whole.data
  for (const limit of isFullRun ? [1, 2, 3, length - 1, length] : [3, length - 1, length]) {
    const pages = await readAll(path, `${usual}limit=${limit}`)
    expect(pages.flat()).toEqual(whole.data)
    expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true)
  }
  const ascending = await readAll(path, 'sort=createdAt&limit=2')
  expect(ascending.flat()).toEqual(whole.data.toReversed())
  expect((await getPage(path, 'sort=-createdAt&limit=100')).body).toEqual(whole)
})

const invalidLimits = [
  '0',
  '-1',
  '101',
  '1000',
  '1e1',
  '1.5',
  '+5',
  '0x10',
  'abc',
  '',
  '%20',
  '5%20',
  '٣',
  'NaN',
  '1&limit=2',
]

test.each(listings)('%s accepts a limit from 1 to 100 only', async (path) => {
  // One schema reads the limit of all listings.
  const isWhole = isFullRun || path === '/contacts'
  for (const limit of isWhole ? ['1', '100', '007'] : ['100'])
    expect(await getPage(path, `limit=${limit}`)).toMatchObject({ status: 200 })
  for (const limit of isWhole ? invalidLimits : ['0', '101']) {
    const { issues } = expectError(await getPage(path, `limit=${limit}`), 400)
    expect([limit, issues?.[0]?.path]).toEqual([limit, 'limit'])
  }
  expectError(await getPage(path, 'limit[]=5'), 400)
})

test('a page by default has 50 records', async () => {
  const { key } = await api.signUp()
  await api.query(
    `insert into contacts (workspace_id, id, email)
     select workspace_id, uuidv7(), 'bulk' || n || '@example.com' from api_keys, generate_series(1, 120) n where prefix = $1`,
    [key.slice(0, 10)],
  )
  const { body } = await getPage('/contacts', '', key)
  expect([body.data.length, typeof body.nextCursor]).toEqual([50, 'string'])
  expect((await getPage('/contacts', 'limit=100', key)).body.data).toHaveLength(100)
})

/** The listings that try a cursor of this one: at the gate the two that follow, so that each tries two. */
function othersThan(path: string): string[] {
  const place = listings.indexOf(path) + 1
  return [...listings.slice(place), ...listings.slice(0, place - 1)].slice(0, countRuns({ gate: 2, full: Infinity }))
}

test('a cursor is valid only unchanged, for its own listing, sort and workspace', async () => {
  const other = await api.signUp()
  for (let count = 0; count < 2; count++) await api.create('/contacts', other.key, { email: freshEmail() })
  const cursors = new Map<string, string>()
  for (const path of listings) {
    cursors.set(path, (await getPage(path, `${newestFirst[path] ?? ''}limit=1`)).body.nextCursor ?? '')
  }
  const refuse = async (response: ReturnType<typeof getPage>) => {
    expect(expectError(await response, 400, 'Invalid cursor').issues).toEqual([
      { path: 'cursor', message: 'Invalid cursor' },
    ])
  }
  for (const [path, cursor] of cursors) {
    expect(await getPage(path, `${newestFirst[path] ?? ''}cursor=${cursor}`)).toMatchObject({ status: 200 })
    expect(await getPage(path, `cursor=${cursor}&limit=3&sort=-createdAt`)).toMatchObject({ status: 200 })
    for (const foreign of othersThan(path)) await refuse(getPage(foreign, `cursor=${cursor}`))
    await refuse(getPage(path, `cursor=${cursor}&sort=createdAt`))
    // The record of a nested listing does not exist in the other workspace.
    if (path.includes('{')) expectError(await getPage(path, `cursor=${cursor}`, other.key), 404)
    else await refuse(getPage(path, `cursor=${cursor}`, other.key))
  }
  const cursor = cursors.get('/contacts') ?? ''
  const wrong = [
    'x',
    '0',
    '.',
    '%00',
    "' or 1=1--",
    cursor.slice(0, -1),
    `${cursor}x`,
    `${cursor}.${cursor}`,
    `${cursor}=`,
    Buffer.from('["2020-01-01T00:00:00.000Z","x"]').toString('base64url'),
    Buffer.from(JSON.stringify('x'.repeat(300))).toString('base64url'),
    '[object Object]',
  ]
  for (const [index, character] of Array.from(cursor).entries()) {
    if (index % 7 === 0) wrong.push(cursor.slice(0, index) + (character === 'A' ? 'B' : 'A') + cursor.slice(index + 1))
  }
  for (const text of wrong) await refuse(getPage('/contacts', `cursor=${encodeURIComponent(text)}`))
  expectError(await getPage('/contacts', `cursor=${'x'.repeat(5_000)}`), 400)
  expectError(await getPage('/contacts', `cursor=${cursor}&cursor=${cursor}`), 400)
})

const readableTextOf = (cursor: string | null) =>
  (cursor ?? '').split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))

test.each(listings)('the cursor of %s does not show its position', async (path) => {
  const { data, nextCursor } = (await getPage(path, `${newestFirst[path] ?? ''}limit=1`)).body
  const [last] = data as [Item]
  const shown = readableTextOf(nextCursor).join()
  expect(shown.length).toBeGreaterThan(60)
  for (const fact of [uuidOf(idOf(last) as EventId), last.createdAt]) expect(shown).not.toContain(fact)
})

test('the cursor of the event feed does not show the transaction id of PostgreSQL', async () => {
  const { data, nextCursor } = (await getPage('/events', 'limit=1')).body
  const [row] = await api.query('select transaction_id::text as id from events where id = $1', [
    uuidOf(data[0]?.id as EventId),
  ])
  expect(row?.['id']).toMatch(/^\d+$/)
  expect(readableTextOf(nextCursor).join()).not.toContain(row?.['id'])
})

const sorts = ['createdAt', 'updatedAt', 'email'] as const
test.each(sorts)('contacts sort by %s in both directions, including equal values', async (sort) => {
  const { key } = await api.signUp()
  const count = 23
  // Only a few distinct timestamps, and addresses in mixed case.
  await api.query(
    `insert into contacts (workspace_id, id, email, created_at, updated_at)
     select workspace_id, gen_random_uuid(), case when n % 2 = 0 then 'p' else 'P' end || n || '@example.com',
       now() - (n % 3) * interval '1 hour', now() - (n % 4) * interval '1 hour'
     from api_keys, generate_series(1, $2) n where prefix = $1`,
    [key.slice(0, 10), count],
  )
  const keyOf = (item: Item) => (sort === 'email' ? item.email.toLowerCase() : item[sort])
  for (const direction of ['', '-']) {
    const pages: Item[] = []
    let cursor: string | null = ''
    do {
      const query = `sort=${direction}${sort}&limit=4${cursor && `&cursor=${cursor}`}`
      const { body }: { body: Page } = await getPage('/contacts', query, key)
      pages.push(...body.data)
      cursor = body.nextCursor
    } while (cursor)
    expect(new Set(pages.map(({ id }) => id)).size).toBe(count)
    const keys = pages.map(keyOf)
    const inOrder = keys.toSorted((a, b) => (a < b ? -1 : 1))
    expect(keys).toEqual(direction ? inOrder.toReversed() : inOrder)
  }
})

test('paging returns all existing records once during concurrent inserts', async () => {
  for (const sort of ['createdAt', '-createdAt', 'email', '-email']) {
    const before = (await getPage('/contacts', `sort=${sort}&limit=100`)).body.data.map(({ id }) => id)
    // Insert only a few: ascending pages would otherwise never end.
    let left = 6
    const insert = async () =>
      void (left-- > 0 && (await api.create('/contacts', workspace.key, { email: freshEmail() })))
    const seen = (await readAll('/contacts', `sort=${sort}&limit=2`, insert)).flat().map(({ id }) => id)
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.filter((id) => before.includes(id))).toEqual(before)
  }
})

test('a cursor stays valid after its record is deleted', async () => {
  const { key } = await api.signUp()
  const made: string[] = []
  for (let count = 0; count < 6; count++) {
    made.unshift(String((await api.create('/contacts', key, { email: freshEmail() }))['id']))
  }
  const first = await getPage('/contacts', 'limit=2', key)
  await api.query('delete from contacts where email = $1', [first.body.data[1]?.email])
  const second = await getPage('/contacts', `limit=10&cursor=${first.body.nextCursor}`, key)
  expect(second.body).toEqual({ data: second.body.data, nextCursor: null })
  expect(second.body.data.map(({ id }) => id)).toEqual(made.slice(2))
})
