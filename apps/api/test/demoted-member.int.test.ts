/**
 * A member who was an ADMIN tries to keep rights: by session, by keys, by invites, by repeated requests and as an
 * agent.
 */
import type { AuditEntry } from '@rapport/core/audit/audit.schema.ts'
import { createApiKey } from '@rapport/core/auth/api-keys.ts'
import type { ApiKey, CreatedApiKey } from '@rapport/core/auth/auth.schema.ts'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { callTool } from './mcp.ts'
import { type Call, expectError, freshEmail, operationsOf, password, startTestApi } from './testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const eve = useForTest(prepare)

const repeated = { 'idempotency-key': 'once' }
const keyRequest = { name: 'spare', role: 'ADMIN' }

/** Adds an ADMIN who creates everything that could be of use later. */
async function prepare() {
  const { id, token } = await api.join(workspace, 'ADMIN')
  const key = await api.issueKey(token, 'ADMIN')
  const keyOfKey = await api.issueKey(key, 'ADMIN')
  const credentials = { session: token, key, 'key of a key': keyOfKey }
  for (const credential of Object.values(credentials)) {
    const options = { key: credential, body: keyRequest, headers: repeated }
    expect((await api.call<CreatedApiKey>('POST', '/api-keys', options)).status).toBe(201)
  }
  const accomplice = freshEmail()
  await api.create('/invites', keyOfKey, { email: accomplice, role: 'ADMIN' })
  return { id, credentials, inviteToken: await api.tokenMailedTo(accomplice) }
}

/** Sends a request with each credential. */
function tryWithEach(method: string, path: string, options: Pick<Call, 'body' | 'headers'> = {}) {
  const credentials = Object.entries(eve.credentials)
  return Promise.all(
    credentials.map(async ([name, key]) => ({ name, response: await api.call(method, path, { ...options, key }) })),
  )
}

const setRole = (role: string) => api.call('PATCH', `/members/${eve.id}`, { key: workspace.token, body: { role } })
const readMembers = async () =>
  (await api.call<{ data: { id: string; role: string }[] }>('GET', '/members', { key: workspace.key })).body.data

/** What only an ADMIN may do. */
const ofAdmins = (): [string, string, unknown?][] => [
  ['PATCH', `/members/${eve.id}`, { role: 'ADMIN' }],
  ['POST', '/api-keys', keyRequest],
  ['POST', '/invites', { email: freshEmail(), role: 'ADMIN' }],
  ['PATCH', '/workspace', { name: 'Mine' }],
  ['GET', '/api-keys'],
  ['GET', '/audit-log'],
]

test('a demoted ADMIN gets 403 for what only an ADMIN may do, by every credential', async () => {
  expect((await setRole('MEMBER')).status).toBe(200)
  for (const [method, path, body] of ofAdmins()) {
    for (const { response } of await tryWithEach(method, path, { body })) {
      expectError(response, 403, 'This request requires the role ADMIN')
    }
  }
  for (const { response } of await tryWithEach('POST', '/contacts', { body: { email: freshEmail() } }))
    expect([201, 409]).toContain(response.status)
  expect((await readMembers()).find(({ id }) => id === eve.id)?.role).toBe('MEMBER')
})

test('a demoted ADMIN gets no response of an ADMIN again by its Idempotency-Key', async () => {
  await setRole('MEMBER')
  for (const { response } of await tryWithEach('POST', '/api-keys', { body: keyRequest, headers: repeated })) {
    expectError(response, 403)
    expect(response.text).not.toContain('rpk_')
  }
})

test('a member who becomes a VIEWER can write nothing, on any route', async () => {
  await setRole('VIEWER')
  const allowed = /^\/(mcp$|auth\/|sessions\/|segments\/preview$)/
  for (const { method, template, path, isSecured } of await operationsOf(api)) {
    if (!isSecured || method === 'GET' || allowed.test(template)) continue
    for (const { name, response } of await tryWithEach(method, path)) {
      expect(`${name}: ${method} ${template} ${response.status}`).toBe(`${name}: ${method} ${template} 403`)
    }
  }
  for (const key of Object.values(eve.credentials)) {
    const writing = await callTool(api, key, { name: 'upsert_contact', args: { email: freshEmail() } })
    expect(writing).toMatchObject({ isError: true, value: { code: 'forbidden' } })
    expect(await callTool(api, key, { name: 'search_contacts' })).toMatchObject({ isError: false })
  }
})

test('a removed member has no valid credential, also of requests that are repeated', async () => {
  expect((await api.call('DELETE', `/members/${eve.id}`, { key: workspace.token })).status).toBe(204)
  for (const [method, path, body] of [...ofAdmins(), ['GET', '/contacts'] as const]) {
    for (const { response } of await tryWithEach(method, path, { body, headers: repeated })) expectError(response, 401)
  }
  const accepted = await api.call('POST', '/auth/accept-invite', { body: { token: eve.inviteToken, password } })
  expectError(accepted, 400, 'Invalid or expired token')
})

test('a later promotion gives no key back, and the audit log names each key', async () => {
  const list = () => api.call<{ data: ApiKey[] }>('GET', `/api-keys?createdBy=${eve.id}`, { key: workspace.key })
  const before = (await list()).body.data
  expect(before).toHaveLength(5)
  await setRole('VIEWER')
  await setRole('OWNER')
  expect(new Set((await list()).body.data.map(({ role }) => role))).toEqual(new Set(['VIEWER']))
  const { body } = await api.call<{ data: AuditEntry[] }>('GET', '/audit-log?action=api_key.changed&limit=5', {
    key: workspace.key,
  })
  expect(new Set(body.data.map(({ subjectId }) => subjectId))).toEqual(new Set(before.map(({ id }) => id)))
  expect(body.data[0]).toMatchObject({ actor: { kind: 'user' }, details: { before: 'ADMIN', role: 'VIEWER' } })
})

test('keys from the command line keep their role, as they have no creator', async () => {
  const created = await createApiKey(api.ctx(workspace.id), {
    name: 'cli',
    role: 'ADMIN',
    rights: null,
    expiresAt: null,
  })
  await setRole('VIEWER')
  await api.call('DELETE', `/members/${eve.id}`, { key: workspace.token })
  expect((await api.call('GET', '/audit-log', { key: created.key })).status).toBe(200)
})
