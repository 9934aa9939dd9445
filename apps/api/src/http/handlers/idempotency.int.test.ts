import type { CreatedApiKey } from '@rapport/core/auth/auth.schema.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import type { CreatedWebhook } from '@rapport/core/webhooks/webhooks.schema.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import {
  type ApiResponse,
  countStatuses,
  expectError,
  freshEmail,
  operationsOf,
  startTestApi,
  type TestApi,
} from '../../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

let keys = 0
const freshKey = () => `key ${(keys += 1)}`

interface Post {
  path?: string
  body?: unknown
  credential?: string
  on?: Pick<TestApi, 'call'>
}
/** POSTs with this Idempotency-Key. Default: creates a contact. */
function post<Body>(idempotencyKey: string, given: Post = {}) {
  const { path = '/contacts', body, credential = workspace.key, on = api } = given
  const headers = { 'idempotency-key': idempotencyKey }
  return on.call<Body>('POST', path, { key: credential, headers, ...(body !== undefined && { body }) })
}

const toComparable = ({ status, text, headers }: ApiResponse<unknown>) => ({
  status,
  text,
  location: headers['location'],
  type: headers['content-type'],
})
const countContacts = async (email: string) =>
  (await api.query('select id from contacts where lower(email) = lower($1)', [email])).length

test('a repeated request gets the stored response and changes nothing', async () => {
  const [key, email] = [freshKey(), freshEmail()]
  const first = await post(key, { body: { email } })
  expect(first.status).toBe(201)
  expect(first.headers['idempotent-replayed']).toBeUndefined()
  for (let repetition = 0; repetition < 3; repetition++) {
    const again = await post(key, { body: { email } })
    expect(toComparable(again)).toEqual(toComparable(first))
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id'])
  }
  expect(await countContacts(email)).toBe(1)
})

test('replays the first response even if the record has changed', async () => {
  const [key, email] = [freshKey(), freshEmail()]
  const first = await post(key, { body: { email } })
  await api.query('delete from contacts where email = $1', [email])
  expect(toComparable(await post(key, { body: { email } }))).toEqual(toComparable(first))
  expect(await countContacts(email)).toBe(0)
})

test('an error response is replayed too', async () => {
  const email = freshEmail()
  const contact = await api.create('/contacts', workspace.key, { email })
  const conflicting = freshKey()
  const conflict = await post(conflicting, { body: { email } })
  expectError(conflict, 409, 'Contact already exists')
  await api.query('delete from contacts where email = $1', [email])
  const again = await post(conflicting, { body: { email } })
  expect(toComparable(again)).toEqual(toComparable(conflict))
  expect(again.headers['idempotent-replayed']).toBe('true')
  expect(again.text).toContain(String(contact['id']))
  expect(await post(freshKey(), { body: { email } })).toMatchObject({ status: 201 })

  const list = await api.create('/lists', workspace.key, { name: 'Newsletter' })
  const campaign = await api.create('/campaigns', workspace.key, { name: 'a', subject: 'b', listId: list['id'] })
  const sending = { path: `/campaigns/${String(campaign['id'])}/send` }
  const key = freshKey()
  const refused = await post(key, sending)
  expectError(refused, 400, 'List has no subscribed recipients')
  const subscriber = { email: freshEmail(), status: 'CONFIRMED' }
  await api.create(`/lists/${String(list['id'])}/subscribers`, workspace.key, subscriber)
  expect(toComparable(await post(key, sending))).toEqual(toComparable(refused))
  const another = freshKey()
  expect(await post(another, sending)).toMatchObject({ status: 202, body: { queued: 1 } })
  expect(await post(another, sending)).toMatchObject({ status: 202, body: { queued: 1 } })
  expectError(await post(freshKey(), sending), 409)
})

test('an error raised by the database is stored and replayed', async () => {
  const [key, listId] = [freshKey(), 'lst_01kag7m3v9e8fs2t4w6x8y0z1b']
  const refused = () => post(key, { path: '/campaigns', body: { name: 'a', subject: 'b', listId } })
  const first = await refused()
  expectError(first, 400, 'List not found')
  const again = await refused()
  expect(toComparable(again)).toEqual(toComparable(first))
  expect(again.headers['idempotent-replayed']).toBe('true')
})

test('an error rolls back its changes but keeps the stored response', async () => {
  const before = await api.query('select count(*) from events')
  const email = freshEmail()
  await api.create('/contacts', workspace.key, { email })
  expectError(await post(freshKey(), { body: { email } }), 409)
  expect(Number((await api.query('select count(*) from events'))[0]?.['count'])).toBe(Number(before[0]?.['count']) + 1)
})

test('the same key on another request returns 422 and keeps the first response', async () => {
  const [key, email] = [freshKey(), freshEmail()]
  const first = await post(key, { body: { email, firstName: 'Ada' } })
  const others: Post[] = [
    { body: { email } },
    { body: { email, firstName: 'Eve' } },
    { body: { email: freshEmail() } },
    { path: '/lists', body: { name: 'Ada' } },
    { path: '/campaigns/cmp_01kag7m3v9e8fs2t4w6x8y0z1b/send' },
  ]
  for (const other of others) {
    const response = await post(key, other)
    const { code } = expectError(response, 422, 'This Idempotency-Key was used for another request')
    expect(code).toBe('idempotency_conflict')
    expect(response.headers['idempotent-replayed']).toBeUndefined()
  }
  expect(toComparable(await post(key, { body: { email, firstName: 'Ada' } }))).toEqual(toComparable(first))
})

test('whitespace and key order of the JSON make no difference', async () => {
  const [key, email] = [freshKey(), freshEmail()]
  const first = await post(key, { body: { email, firstName: 'Ada' } })
  const raw = `{ "firstName":\t"Ada",\n "email": "${email}", "tags": [] }`
  const again = await api.call('POST', '/contacts', {
    key: workspace.key,
    raw,
    headers: { 'idempotency-key': key, 'user-agent': 'another' },
  })
  expect(toComparable(again)).toEqual(toComparable(first))
})

test.each([2, 50])('of %i concurrent requests one runs; the others get 409 or its response', async (count) => {
  const [key, body] = [freshKey(), { url: 'https://example.com/once', eventTypes: ['*'] }]
  const before = Number((await api.query('select count(*) from webhooks'))[0]?.['count'])
  const responses = await Promise.all(
    Array.from({ length: count }, () => post<CreatedWebhook>(key, { path: '/webhooks', body })),
  )
  const { 201: made = 0, 409: waiting = 0 } = countStatuses(responses)
  expect(made + waiting).toBe(count)
  expect(new Set(responses.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1)
  expect(responses.filter(({ status, headers }) => status === 201 && !headers['idempotent-replayed'])).toHaveLength(1)
  for (const response of responses.filter(({ status }) => status === 409)) {
    expectError(response, 409, 'A request with this Idempotency-Key is still running')
  }
  expect(Number((await api.query('select count(*) from webhooks'))[0]?.['count'])).toBe(before + 1)
})

test('while a request runs, its key returns 409; other keys and credentials go on', async () => {
  const [key, email] = [freshKey(), freshEmail()]
  const { db } = api.database
  const lockHolder = await openTransaction(db, async (transaction) => {
    await transaction.execute(`lock table events in exclusive mode`)
  })
  const first = post(key, { body: { email } })
  await waitUntilBlocked(db)
  // All three responses arrive while the first request still waits for its lock.
  const early = await post(key, { body: { email } })
  expectError(early, 409, 'A request with this Idempotency-Key is still running')
  expect(early.headers['retry-after']).toBe('1')
  expectError(await post(key, { body: { email: freshEmail() } }), 409)
  const creatingList = { path: '/lists', body: { name: 'Newsletter' } }
  expect(await post(freshKey(), creatingList)).toMatchObject({ status: 201 })
  expect(await post(key, { ...creatingList, credential: workspace.token })).toMatchObject({ status: 201 })
  await waitUntilBlocked(db)
  await lockHolder.commit()
  expect(await first).toMatchObject({ status: 201 })
  expect(toComparable(await post(key, { body: { email } }))).toEqual(toComparable(await first))
})

test('stores no response for a 500, so that the request can be retried', async () => {
  const [key, email] = [freshKey(), freshEmail()]
  await api.query('alter table events rename to events_elsewhere')
  expectError(await post(key, { body: { email } }), 500)
  expectError(await post(key, { body: { email } }), 500)
  await api.query('alter table events_elsewhere rename to events')
  expect(api.takeLog()).toHaveLength(2)
  expect(await countContacts(email)).toBe(0)
  const response = await post(key, { body: { email } })
  expect(response).toMatchObject({ status: 201 })
  expect(response.headers['idempotent-replayed']).toBeUndefined()
})

test('stores no response for a lock timeout', async () => {
  const [key, email] = [freshKey(), freshEmail()]
  const { url } = api.database
  const settings = { lock_timeout: '200' }
  const impatient = openDatabase(url, { applicationName: 'rapport test', settings, onError: () => {} })
  const impatientApi = await startTestApi({ database: { ...impatient, url } })
  const lockHolder = await openTransaction(api.database.db, async (transaction) => {
    await transaction.execute(`lock table events in exclusive mode`)
  })
  const refused = await post(key, { body: { email }, on: impatientApi })
  await impatientApi.close()
  expectError(refused, 503, 'Temporarily unavailable; try again')
  expect(refused.headers['retry-after']).toBe('1')
  await lockHolder.commit()
  expect(await post(key, { body: { email } })).toMatchObject({ status: 201 })
})

test('a key expires after 24 hours', async () => {
  const [key, email] = [freshKey(), freshEmail()]
  const first = await post(key, { body: { email } })
  const age = (by: string) =>
    api.query(`update idempotency_records set created_at = now() - $2::interval where key like '%' || $1`, [
      `\n${key}`,
      by,
    ])
  await age('23 hours 59 minutes')
  expect(toComparable(await post(key, { body: { email } }))).toEqual(toComparable(first))
  await age('24 hours')
  const again = await post(key, { body: { email } })
  expectError(again, 409, 'Contact already exists')
  expect(again.headers['idempotent-replayed']).toBeUndefined()
  expect(toComparable(await post(key, { body: { email } }))).toEqual(toComparable(again))
})

test('a repeated request gets the secret again; the stored response is encrypted', async () => {
  const [issuing, hooking] = [freshKey(), freshKey()]
  const issue = () => post<CreatedApiKey>(issuing, { path: '/api-keys', body: { name: 'secret' } })
  const hook = () =>
    post<CreatedWebhook>(hooking, { path: '/webhooks', body: { url: 'https://example.com', eventTypes: ['*'] } })
  const [{ body: issued }, { body: hooked }] = [await issue(), await hook()]
  expect((await issue()).body).toEqual(issued)
  expect((await hook()).body).toEqual(hooked)
  expect(await api.call('GET', '/contacts', { key: issued.key })).toMatchObject({ status: 200 })
  const stored = JSON.stringify(
    await api.query(`select * from idempotency_records where split_part(key, e'\\n', 2) = any ($1)`, [
      [issuing, hooking],
    ]),
  )
  expect(stored.split('request_hash')).toHaveLength(3)
  for (const secret of [issued.key, hooked.secret]) expect(stored).not.toContain(secret)
})

const badKeys = ['', 'x'.repeat(256), 'x'.repeat(10_000), 'ünï', 'a\tb', 'a\u007fb', '🔑']
test('every authenticated POST rejects an invalid key', async () => {
  const posts = (await operationsOf(api)).filter(
    // Routes about the credential and `/mcp` ignore keys. The tests of imports cover their keys.
    ({ method, isSecured, template }) =>
      method === 'POST' && isSecured && !/^\/(auth\/|mcp$|(contacts|suppressions)\/import$)/.test(template),
  )
  expect(posts.length).toBeGreaterThan(5)
  for (const { path, example } of posts) {
    for (const key of badKeys) {
      const { issues } = expectError(await post(key, { path, body: example }), 400)
      expect(issues).toEqual([{ path: 'Idempotency-Key', message: expect.stringMatching(/1 to 255 printable/) }])
    }
  }
  for (const key of ['x', ' ', '~'.repeat(255), `"quoted" {json} 'and' --`]) {
    expect(await post(key, { body: { email: freshEmail() } })).toMatchObject({ status: 201 })
  }
})

test('other requests ignore the key', async () => {
  const { body: campaign } = await api.call('GET', '/auth/me', {
    key: workspace.key,
    headers: { 'idempotency-key': '' },
  })
  expect(campaign).toMatchObject({ kind: 'apiKey' })
  const email = freshEmail()
  const signUp = () =>
    api.call('POST', '/auth/signup', {
      body: { email, password: workspace.password },
      headers: { 'idempotency-key': 'x' },
    })
  expect(await signUp()).toMatchObject({ status: 201 })
  expect(await signUp()).toMatchObject({ status: 409 })
})
