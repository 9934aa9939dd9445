/** Sessions, workspaces, the deletion of a workspace, and the audit log. */
import type { OpenSession, OwnWorkspace } from '@rapport/core/auth/auth.schema.ts'
import type { AuditEntry } from '@rapport/core/audit/audit.schema.ts'
import { WorkspaceChange } from '@rapport/core/workspaces/workspaces.schema.ts'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, type Json, password, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForTest(() => api.signUp())

function call<Body = Json>(route: string, body?: unknown, key = workspace.token) {
  const [method = '', path = ''] = route.split(' ')
  return api.call<Body>(method, path, { key, ...(body !== undefined && { body }) })
}
const logIn = async (email = workspace.email, workspaceId?: string) =>
  String((await api.call('POST', '/auth/login', { body: { email, password, workspaceId } })).body['token'])
const readLog = async (query = '') => (await call<{ data: AuditEntry[] }>(`GET /audit-log${query}`)).body.data

test('GET /sessions, DELETE /sessions/{id}: without tokens, ended one by one', async () => {
  const second = await logIn()
  const { body, text } = await call<{ data: OpenSession[] }>('GET /sessions')
  const shape = { id: anId('ses'), workspaceId: workspace.id, expiresAt: aTimestamp, createdAt: aTimestamp }
  expect(body.data).toEqual([
    { ...shape, current: false },
    { ...shape, current: true },
  ])
  for (const secret of [second, workspace.token]) expect(text).not.toContain(secret.slice(4))
  const [newest] = body.data
  expectError(await call('GET /auth/me', undefined, newest?.id), 401)
  expect(await call(`DELETE /sessions/${newest?.id}`)).toMatchObject({ status: 204, text: '' })
  expectError(await call('GET /auth/me', undefined, second), 401)
  expectError(await call(`DELETE /sessions/${newest?.id}`), 404, 'Session not found')
  expect((await call<{ data: unknown[] }>('GET /sessions')).body.data).toHaveLength(1)
})

test('a user sees and ends only own sessions; an API key has none', async () => {
  const { token } = await api.join(workspace, 'ADMIN')
  const [own] = (await call<{ data: OpenSession[] }>('GET /sessions')).body.data
  for (const key of [token, workspace.key]) {
    expect((await call('GET /sessions', undefined, key)).text).not.toContain(own?.id)
    expectError(await call(`DELETE /sessions/${own?.id}`, undefined, key), 404)
  }
  expect((await call('GET /sessions', undefined, workspace.key)).body).toEqual({ data: [], nextCursor: null })
})

test('GET /workspaces: those of the user, with the role; login can select one', async () => {
  const other = await api.signUp()
  await api.create('/invites', other.token, { email: workspace.email, role: 'VIEWER' })
  await api.call('POST', '/auth/accept-invite', { body: { token: await api.tokenMailedTo(workspace.email), password } })
  const { body } = await call<{ data: OwnWorkspace[] }>('GET /workspaces')
  expect(body.data.map(({ id, role }) => [id, role])).toEqual([
    [other.id, 'VIEWER'],
    [workspace.id, 'OWNER'],
  ])
  const there = await logIn(workspace.email, other.id)
  expect(await call('GET /auth/me', undefined, there)).toMatchObject({ body: { workspace: { id: other.id } } })
  expectError(await call('POST /contacts', { email: freshEmail() }, there), 403)
})

test('DELETE /workspace: by an OWNER only; its credentials and users are deleted too', async () => {
  const admin = await api.join(workspace, 'ADMIN')
  await api.create('/invites', workspace.token, { email: freshEmail(), role: 'MEMBER' })
  const { name } = (await call<{ name: string }>('GET /workspace')).body
  for (const key of [admin.token, workspace.key]) {
    expectError(await call('DELETE /workspace', { name }, key), 403, 'This request requires the role OWNER')
  }
  for (const body of [{ name: `${name}!` }, { name: name.toUpperCase() }, { name: '' }]) {
    expectError(await call('DELETE /workspace', body), 400, 'name: must be the name of the workspace')
  }
  for (const body of [{}, undefined]) expectError(await call('DELETE /workspace', body), 400)
  expect(await call('GET /workspace')).toMatchObject({ status: 200 })
  expect(await call('DELETE /workspace', { name: ` ${name} ` })).toMatchObject({ status: 204, text: '' })
  for (const key of [workspace.token, workspace.key, admin.token])
    expectError(await call('GET /auth/me', undefined, key), 401)
  expectError(await api.call('POST', '/auth/login', { body: { email: workspace.email, password } }), 401)
  expect(await api.call('POST', '/auth/signup', { body: { email: workspace.email, password } })).toMatchObject({
    status: 201,
  })
})

test('an entry has action, actor, subject, address and time', async () => {
  const email = freshEmail()
  const from = '198.51.100.7'
  const asked = await api.call('POST', '/invites', {
    key: workspace.key,
    from,
    body: { email, role: 'VIEWER' },
    headers: { 'x-request-id': 'find-me' },
  })
  const [entry] = await readLog()
  expect(entry).toEqual({
    id: anId('aud'),
    action: 'invite.created',
    actor: { kind: 'apiKey', id: anId('key') },
    subjectId: asked.body['id'],
    details: { email, role: 'VIEWER' },
    address: from,
    requestId: 'find-me',
    createdAt: aTimestamp,
  })
})

test('the entry of a changed workspace has each changed field', async () => {
  const change = {
    name: 'Engines',
    currency: 'USD',
    fromName: 'Ada',
    fromEmail: 'ada@example.com',
    postalAddress: null,
    logoUrl: 'https://example.com/logo.png',
    accentColor: '#2f5bea',
    locale: 'de',
    confirmChangedAddress: true,
    trackingWithoutConsent: 'OFF',
  }
  expect(Object.keys(change)).toEqual(Object.keys(WorkspaceChange.shape))
  expect(await call('PATCH /workspace', change)).toMatchObject({ status: 200 })
  expect(await readLog('?action=workspace.changed')).toMatchObject([{ details: change }])
})

test('records changes of access, exports and deletions, but no rejected requests', async () => {
  const { id, email } = await api.join(workspace, 'VIEWER')
  await call(`PATCH /members/${id}`, { role: 'MEMBER' })
  await call(`PATCH /members/${id}`, { role: 'MEMBER' })
  await call(`DELETE /members/${id}`)
  const backdateInvites = () => api.query(`update mail_requests set created_at = now() - interval '1 hour'`)
  await backdateInvites()
  const invite = await api.create('/invites', workspace.token, { email, role: 'VIEWER' })
  await backdateInvites()
  await call(`POST /invites/${String(invite['id'])}/resend`)
  await call(`DELETE /invites/${String(invite['id'])}`)
  const key = await api.create('/api-keys', workspace.token, { name: 'Website' })
  await call(`DELETE /api-keys/${String(key['id'])}`)
  await call('PATCH /workspace', { name: 'Engines' })
  await api.create('/webhooks', workspace.token, { url: 'https://example.com', eventTypes: ['*'] })
  const contact = await api.create('/contacts', workspace.token, { email: freshEmail() })
  await call(`DELETE /contacts/${String(contact['id'])}`)
  await call('GET /contacts/export?format=csv')
  const list = await api.create('/lists', workspace.token, { name: 'Newsletter' })
  await call(`DELETE /lists/${String(list['id'])}`)
  const before = await readLog('?sort=createdAt&limit=100')
  expect(before.map(({ action }) => action)).toEqual([
    'session.created',
    'api_key.created',
    'invite.created',
    'invite.accepted',
    'session.created',
    'member.changed',
    'member.removed',
    'invite.created',
    'invite.resent',
    'invite.deleted',
    'api_key.created',
    'api_key.deleted',
    'workspace.changed',
    'webhook.created',
    'contact.deleted',
    'contacts.exported',
    'list.deleted',
  ])
  expect(before[3]?.actor).toEqual({ kind: 'user', id })
  expectError(await call(`DELETE /members/${id}`), 404)
  expectError(
    await call('POST /invites', { email, role: 'VIEWER' }, await api.issueKey(workspace.token, 'MEMBER')),
    403,
  )
  expect(await readLog('?sort=createdAt&limit=100')).toMatchObject([...before, { action: 'api_key.created' }])
})

test('GET /audit-log: filters entries by action and actor, for ADMINs only', async () => {
  const { token } = await api.join(workspace, 'ADMIN')
  await api.create('/api-keys', token, { name: 'Theirs' })
  const [theirs] = await readLog('?action=api_key.created')
  expect((await readLog('?action=api_key.created')).map(({ details }) => details['name'])).toEqual(['Theirs', 'ADMIN'])
  expect((await readLog(`?actorId=${theirs?.actor.id}`)).map(({ action }) => action)).toEqual([
    'api_key.created',
    'session.created',
    'invite.accepted',
  ])
  expect(await readLog('?actorId=unknown')).toEqual([])
  expectError(await call('GET /audit-log?action=nope'), 400)
  expectError(await call('GET /audit-log', undefined, await api.issueKey(workspace.token, 'MEMBER')), 403)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) expectError(await call(`${method} /audit-log`), 405)
})

test('a change and its entry are one transaction', async () => {
  await api.query('alter table audit_entries rename to audit_elsewhere')
  const response = await call('POST /api-keys', { name: 'unseen' })
  await api.query('alter table audit_elsewhere rename to audit_entries')
  expectError(response, 500)
  expect(api.takeLog()).toHaveLength(1)
  expect((await call('GET /api-keys')).text).not.toContain('unseen')
})

test('after 50 wrong passwords, only clients that logged in before avoid the 429', async () => {
  const from = '198.51.100.7'
  const logIn = (more: object) =>
    api.call('POST', '/auth/login', { body: { email: workspace.email, password }, ...more })
  const tryOnce = (email: string) => logIn({ body: { email, password: 'wrong' } })
  expect(await logIn({ from })).toMatchObject({ status: 200 })
  for (const email of [workspace.email, freshEmail()]) {
    for (let count = 0; count < 50; count++) expectError(await tryOnce(email), 401)
    // The wait is one second at first. A busy machine may take longer for the request.
    const response = await waitUntil(
      async () => {
        const next = await tryOnce(email)
        return next.status === 429 && next
      },
      { describe: 'an attempt is refused' },
    )
    expect(response.text).toBe('{"statusCode":429,"message":"ThrottlerException: Too Many Requests"}')
    expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    // The headers must not announce remaining requests.
    expect([response.headers['x-ratelimit-remaining'], response.headers['x-ratelimit-reset']]).toEqual([
      '0',
      response.headers['retry-after'],
    ])
  }
  // Existing sessions keep working, and so do logins from a known client.
  expect(await call('GET /auth/me')).toMatchObject({ status: 200 })
  expect(await logIn({ from })).toMatchObject({ status: 200 })
})
