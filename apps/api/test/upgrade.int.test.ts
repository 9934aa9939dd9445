/** The API on an upgraded database of the previous release: existing records can be read and changed. */
import { migrate } from '@rapport/core/db/migrate.ts'
import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { restorePreviousRelease } from '@rapport/testing/previous-release/previous-release.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { type Json, password, startTestApi } from './testing.ts'

const key = 'rpk_of-the-release-before'
const api = useForFile(async () => {
  const database = await createEmptyDatabase()
  await restorePreviousRelease(database.pool)
  await migrate(database.url)
  return startTestApi({ database, environment: { SECRET_KEY: 'a secret that is known to every test' } })
})

/** Reads the first page of a listing. */
async function list(path: string): Promise<Json[]> {
  const { status, body } = await api.call<{ data: Json[] }>('GET', path, { key })
  expect([path, status]).toEqual([path, 200])
  return body.data
}

const countIn = async (table: string) => {
  const [row] = await api.query(
    `select count(*)::int as count from ${table} join workspaces w on w.id = workspace_id where w.currency = 'JPY'`,
  )
  return row?.['count']
}

test('passwords, sessions and API keys of the previous release are still valid', async () => {
  const login = await api.call('POST', '/auth/login', { body: { email: 'ada@example.com', password } })
  expect(login).toMatchObject({ status: 200, body: { user: { name: 'Ada' } } })
  const session = await api.call('GET', '/auth/me', { key: 'rps_of-the-release-before' })
  expect(session).toMatchObject({ status: 200, body: { kind: 'user', role: 'OWNER' } })
  expect(await api.call('GET', '/auth/me', { key })).toMatchObject({ status: 200, body: { kind: 'apiKey' } })
})

test('a contact of the previous release is unchanged and can be updated', async () => {
  const [contact] = await list('/contacts?search=O%27Brien')
  expect(contact).toMatchObject({
    email: `Zoë.O'Brien+tag@exämple.com`,
    firstName: '𝓩oë 👩‍👩‍👧',
    lastName: `O'Brien \\ "Null" null`,
    customFieldValues: { plan: 'pro', seats: 1.5, vip: true, since: '0001-02-03' },
    tags: ['a,b', 'quoted "tag"', 'null', 'ß', '{}'],
    lastActivityAt: '1583-10-15T00:00:00.123Z',
    createdAt: '1970-01-01T00:00:00.001Z',
  })
  const path = `/contacts/${String(contact?.['id'])}`
  expect(await api.call('PATCH', path, { key, body: { company: null } })).toMatchObject({ status: 200 })
  expect((await api.call('GET', path, { key })).body).toEqual({
    ...contact,
    company: null,
    updatedAt: expect.any(String) as unknown,
  })
})

test('every listing has all records of the previous release', async () => {
  for (const [path, table] of [
    ['/contacts?limit=100', 'contacts'],
    ['/deals', 'deals'],
    ['/tasks', 'tasks'],
    ['/forms', 'forms'],
    ['/campaigns', 'campaigns'],
    ['/segments', 'segments'],
    ['/imports', 'imports'],
    ['/events', 'events'],
    ['/api-keys', 'api_keys'],
    ['/invites', 'invites'],
    ['/members', 'members'],
  ] as const) {
    expect([path, (await list(path)).length]).toEqual([path, await countIn(table)])
  }
})

test('a deal with the largest value is exact', async () => {
  const deals = await list('/deals')
  const open = deals.find(({ status }) => status === 'OPEN')
  expect(open).toMatchObject({ name: 'Größter Deal', valueCents: 9_007_199_254_740_991, closedAt: null })
})

test('the event feed continues after an event of the previous release', async () => {
  const [first, ...rest] = await list('/events?sort=createdAt')
  expect(first?.['type']).toBe('contact.created')
  await api.create('/contacts', key, { email: 'after-the-upgrade@example.com' })
  const listFollowing = () => list(`/events?after=${String(first?.['id'])}`)
  await expect
    .poll(async () => (await listFollowing()).at(-1))
    .toMatchObject({ type: 'contact.created', data: { email: 'after-the-upgrade@example.com' } })
  expect((await listFollowing()).map(({ id }) => id)).toEqual(expect.arrayContaining(rest.map(({ id }) => id)))
})

test('deliveries can be listed, and a failed one redelivered', async () => {
  const webhooks = await list('/webhooks')
  const webhook = webhooks.find(({ enabled }) => enabled)
  const path = `/webhooks/${String(webhook?.['id'])}/deliveries`
  const deliveries = await list(path)
  expect(new Set(deliveries.map(({ status }) => status))).toEqual(
    new Set(['SUCCEEDED', 'FAILED', 'PENDING', 'INTERRUPTED']),
  )
  const failed = deliveries.find(({ status }) => status === 'FAILED')
  const again = await api.call('POST', `${path}/${String(failed?.['id'])}/redeliver`, { key })
  expect(again.status).toBe(202)
})

test('the statistics of a campaign that is being sent add up', async () => {
  const sending = (await list('/campaigns')).find(({ status }) => status === 'SENDING')
  const { body } = await api.call('GET', `/campaigns/${String(sending?.['id'])}/stats`, { key })
  expect(body).toMatchObject({ queued: 8, sent: 2, failed: 1, skipped: 1, interrupted: 0, pending: 4, opened: 1 })
})
