import type { CreatedApiKey } from '@rapport/core/auth/auth.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, anId, expectError, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

const issue = (body: Record<string, unknown>, key = workspace.token) =>
  api.call<CreatedApiKey>('POST', '/api-keys', { key, body })

test('GET and POST /api-keys, GET /api-keys/{id}: the key is shown only once', async () => {
  const response = await issue({ name: ' Website ', role: 'VIEWER', expiresAt: '2099-12-31T23:59:59.9999+02:00' })
  expect(response.status).toBe(201)
  expect(response.headers['location']).toBe(`/api-keys/${response.body.id}`)
  const { key, ...shown } = response.body
  expect(response.body).toEqual({
    id: anId('key'),
    name: 'Website',
    role: 'VIEWER',
    rights: null,
    prefix: key.slice(0, 10),
    createdBy: anId('usr'),
    expiresAt: '2099-12-31T21:59:59.999Z',
    lastUsedAt: null,
    createdAt: aTimestamp,
    key: expect.stringMatching(/^rpk_[\w-]{43}$/),
  })
  const listing = await api.call<{ data: unknown[] }>('GET', '/api-keys', { key: workspace.token })
  expect(listing.body.data[0]).toEqual(shown)
  expect(listing.text).not.toContain(key)
  const read = await api.call('GET', `/api-keys/${response.body.id}`, { key: workspace.token })
  expect(read.body).toEqual(shown)
})

test('a key by default has the role MEMBER and does not expire', async () => {
  expect((await issue({ name: 'plain' })).body).toMatchObject({ role: 'MEMBER', expiresAt: null })
  expect((await issue({ name: 'plain', expiresAt: null })).body).toMatchObject({ expiresAt: null })
  expect(expectError(await issue({ name: 'plain', expiresAt: '' }), 400).issues).toMatchObject([{ path: 'expiresAt' }])
})

test('DELETE /api-keys/{id}: a revoked key fails on the next request, even its own', async () => {
  const { body: other } = await issue({ name: 'other', role: 'ADMIN' })
  const { body: own } = await issue({ name: 'own', role: 'ADMIN' })
  for (const revoked of [other, own]) {
    expect(await api.call('GET', '/contacts', { key: revoked.key })).toMatchObject({ status: 200 })
    const response = await api.call('DELETE', `/api-keys/${revoked.id}`, { key: own.key })
    expect(response).toMatchObject({ status: 204, text: '' })
    expectError(await api.call('GET', '/contacts', { key: revoked.key }), 401)
  }
  expectError(await api.call('DELETE', `/api-keys/${own.id}`, { key: workspace.key }), 404, 'API key not found')
})

test('the role of a new key is at most that of its creator', async () => {
  // Only ADMINs can create keys, and no key can be an OWNER.
  const { body: admin } = await issue({ name: 'admin', role: 'ADMIN' })
  expect(await issue({ name: 'equal', role: 'ADMIN' }, admin.key)).toMatchObject({ status: 201 })
  for (const role of ['OWNER', 'admin', 'ROOT', '', 1]) {
    const { issues } = expectError(await issue({ name: 'above', role }, admin.key), 400)
    expect(issues).toEqual([{ path: 'role', message: expect.stringMatching(/^must be one of VIEWER, MEMBER, ADMIN/) }])
  }
})

test('shows the last use, which is recorded at most once a minute', async () => {
  const { body: used } = await issue({ name: 'used' })
  const lastUsed = async () => {
    const { body } = await api.call<{ data: CreatedApiKey[] }>('GET', '/api-keys', { key: workspace.token })
    return body.data.find(({ id }) => id === used.id)?.lastUsedAt
  }
  expect(await lastUsed()).toBeNull()
  await api.call('GET', '/contacts', { key: used.key })
  const first = await lastUsed()
  expect(first).toEqual(aTimestamp)
  await api.call('GET', '/contacts', { key: used.key })
  expect(await lastUsed()).toBe(first)
  await api.query(
    `update api_keys set last_used_at = (last_used_at at time zone 'UTC' - interval '61 seconds') at time zone 'UTC'
     where name = 'used'`,
  )
  await api.call('GET', '/contacts', { key: used.key })
  expect(Date.parse(String(await lastUsed()))).toBeGreaterThanOrEqual(Date.parse(String(first)))
})

const invalidExpiries = [
  '2020-01-01T00:00:00Z',
  '2020-12-31',
  '2099-12-31T23:59:59',
  '2099-02-30T00:00:00Z',
  '2099-12-31T23:59:59+99:99',
  // The year 10000 in UTC, which the database rejects.
  '9999-12-31T23:59:59-23:59',
  '275760-09-13T00:00:00Z',
  '0000-01-01T00:00:00Z',
  'tomorrow',
  4_102_444_800_000,
]
test.each(invalidExpiries)('rejects a key that expires at %j', async (expiresAt) => {
  const { issues } = expectError(await issue({ name: 'never', expiresAt }), 400)
  expect(issues?.[0]?.path).toBe('expiresAt')
})

test.each(['', '   ', 'x'.repeat(201), 'a\nb', 'a\tb', 'a\u0007b', 5, null, undefined, ['a']])(
  'rejects a key with the name %j',
  async (name) => {
    const { issues } = expectError(await issue({ name }), 400)
    expect(issues?.[0]?.path).toBe('name')
  },
)
