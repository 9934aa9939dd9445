/** Authentication and team: one test for each route of the contract. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { describe, expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, type Json, password, startTestApi } from '../testing.ts'

interface Page {
  data: Json[]
  nextCursor: string | null
}

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const call = <Body = Json>(route: string, body?: unknown, key = workspace.token) => {
  const [method = '', path = ''] = route.split(' ')
  return api.call<Body>(method, path, { key, ...(body !== undefined && { body }) })
}
const open = (path: string, body: unknown) => api.call('POST', path, { body })
const listOf = async (path: string, key?: string) => (await call<Page>(`GET ${path}`, undefined, key)).body.data

test('POST /auth/signup: creates a user, a workspace and the pipeline "Sales"', async () => {
  const email = freshEmail()
  const response = await open('/auth/signup', { email, password, workspaceName: 'Engines' })
  expect(response).toMatchObject({
    status: 201,
    body: {
      token: expect.stringMatching(/^rps_/),
      expiresAt: aTimestamp,
      user: { email, emailVerifiedAt: null },
      workspace: { name: 'Engines' },
    },
  })
  const [pipeline] = await listOf('/pipelines', String(response.body['token']))
  const stages = ['Lead', 'Qualified', 'Proposal', 'Negotiation'].map((name) => ({ name }))
  expect(pipeline).toMatchObject({ name: 'Sales', stages })
  expect(expectError(await open('/auth/signup', { email, password }), 409).code).toBe('already_exists')
})

test('POST /auth/signup: returns 403 where SIGN_UP is closed', async () => {
  const closed = await startTestApi({ environment: { SIGN_UP: 'closed' } })
  const response = await closed.call('POST', '/auth/signup', { body: { email: freshEmail(), password } })
  expect(expectError(response, 403).code).toBe('forbidden')
  await closed.close()
})

test('POST /auth/login: the same 401 for an unknown address and a wrong password', async () => {
  const { email } = workspace
  expect(await open('/auth/login', { email, password })).toMatchObject({ status: 200, body: { user: { email } } })
  const wrong = await open('/auth/login', { email, password: 'wrong' })
  const unknown = await open('/auth/login', { email: freshEmail(), password: 'wrong' })
  expectError(wrong, 401, 'Invalid email or password')
  expect(unknown.text).toBe(wrong.text)
})

test('POST /auth/verify-email: confirms the address with the password', async () => {
  const { email, token: key } = await api.signUp()
  const token = await api.tokenMailedTo(email)
  expectError(await open('/auth/verify-email', { token, password: 'wrong' }), 401)
  expectError(await open('/auth/verify-email', { token: 'bad', password }), 400)
  for (let count = 0; count < 2; count++) {
    expect(await open('/auth/verify-email', { token, password })).toMatchObject({ status: 204, text: '' })
  }
  expect((await call('GET /auth/me', undefined, key)).body).toMatchObject({ user: { emailVerifiedAt: aTimestamp } })
  expect(expectError(await call('POST /auth/resend-verification', undefined, key), 409).code).toBe('wrong_state')
})

test('POST /auth/resend-verification: once an hour, and not for an API key', async () => {
  const { token, key } = await api.signUp()
  const early = await call('POST /auth/resend-verification', undefined, token)
  expect(expectError(early, 409).code).toBe('quota_exceeded')
  expect(Number(early.headers['retry-after'])).toBeGreaterThan(3_500)
  await api.query(`update users set verification_mailed_at = now() - interval '61 minutes'`)
  expect((await call('POST /auth/resend-verification', undefined, token)).status).toBe(202)
  expectError(await call('POST /auth/resend-verification', undefined, key), 403)
})

test('POST /auth/logout: ends the session at once; 403 for an API key', async () => {
  const { token, key } = await api.signUp()
  expect(await call('POST /auth/logout', undefined, token)).toMatchObject({ status: 204, text: '' })
  expectError(await call('GET /auth/me', undefined, token), 401)
  expectError(await call('POST /auth/logout', undefined, key), 403)
})

test('POST /auth/forgot-password, POST /auth/reset-password: a single-use link', async () => {
  const { email, token: session } = await api.signUp()
  const unknown = await open('/auth/forgot-password', { email: freshEmail() })
  const known = await open('/auth/forgot-password', { email })
  expect([known.status, known.text]).toEqual([202, ''])
  expect([unknown.status, unknown.text]).toEqual([202, ''])
  const reset = { token: await api.tokenMailedTo(email), password: 'another long and secret sentence' }
  expect(await open('/auth/reset-password', reset)).toMatchObject({ status: 204, text: '' })
  expectError(await call('GET /auth/me', undefined, session), 401)
  expectError(await open('/auth/reset-password', reset), 400, 'Invalid or expired token')
})

test('POST /auth/accept-invite: adds the workspace to a new or an existing user', async () => {
  const other = await api.signUp()
  await call('POST /invites', { email: other.email, role: 'MEMBER' })
  const token = await api.tokenMailedTo(other.email)
  expectError(await open('/auth/accept-invite', { token, password: 'a wrong but long sentence' }), 401)
  expect(await open('/auth/accept-invite', { token, password })).toMatchObject({ status: 204, text: '' })
  const memberships = await listOf('/workspaces', other.token)
  expect(memberships.map(({ role }) => role)).toEqual(expect.arrayContaining(['MEMBER', 'OWNER']))
  const login = await open('/auth/login', { email: other.email, password, workspaceId: workspace.id })
  expect(login.body).toMatchObject({ workspace: { id: workspace.id } })
})

test('GET /auth/me: the user or API key, its role and its workspace', async () => {
  const user = (await call('GET /auth/me')).body
  expect(user).toMatchObject({ kind: 'user', role: 'OWNER', apiKey: null, workspace: { id: workspace.id } })
  const apiKey = (await call('GET /auth/me', undefined, workspace.key)).body
  expect(apiKey).toMatchObject({ kind: 'apiKey', role: 'ADMIN', user: null, apiKey: { id: anId('key') } })
})

test('GET /sessions, DELETE /sessions/{id}: own sessions; none for an API key', async () => {
  const { email, token, key } = await api.signUp()
  const second = String((await open('/auth/login', { email, password })).body['token'])
  const sessions = await listOf('/sessions', token)
  expect(sessions.map(({ current }) => current)).toEqual(expect.arrayContaining([false, true]))
  const other = sessions.find(({ current }) => !current)
  expect((await call(`DELETE /sessions/${String(other?.['id'])}`, undefined, token)).status).toBe(204)
  expectError(await call('GET /auth/me', undefined, second), 401)
  expect((await call('GET /sessions', undefined, key)).body).toEqual({ data: [], nextCursor: null })
})

test('GET /workspaces: those of the user, each with the role', async () => {
  expect(await listOf('/workspaces')).toMatchObject([{ id: workspace.id, role: 'OWNER' }])
})

test('DELETE /workspace: requires the name, and the OWNER', async () => {
  const { token, key, email } = await api.signUp()
  await call('PATCH /workspace', { name: 'To be deleted' }, token)
  expectError(await call('DELETE /workspace', { name: 'To be deleted' }, key), 403)
  for (const body of [{}, { name: 'Another' }]) {
    expect(expectError(await call('DELETE /workspace', body, token), 400).issues?.[0]?.path).toBe('name')
  }
  expect((await call('DELETE /workspace', { name: 'To be deleted' }, token)).status).toBe(204)
  expectError(await call('GET /contacts', undefined, key), 401)
  expectError(await open('/auth/login', { email, password }), 401)
})

test('GET /audit-log: newest first, with filters by action, actorId and time', async () => {
  const { id } = await api.create<{ id: string }>('/api-keys', workspace.token, { name: 'Audited' })
  const [entry] = await listOf(`/audit-log?action=api_key.created&createdAfter=2026-01-01`)
  expect(entry).toMatchObject({
    id: anId('aud'),
    action: 'api_key.created',
    actor: { kind: 'user', id: anId('usr') },
    subjectId: id,
    details: expect.any(Object),
    address: expect.any(String),
    requestId: expect.any(String),
    createdAt: aTimestamp,
  })
  const actor = entry?.['actor'] as { id: string }
  expect((await listOf(`/audit-log?actorId=${actor.id}`)).length).toBeGreaterThan(0)
  expect(await listOf(`/audit-log?createdBefore=2026-01-01`)).toEqual([])
  expectError(await call('GET /audit-log', undefined, await api.issueKey(workspace.token, 'MEMBER')), 403)
})

describe('the pages that emails lead to', () => {
  const html = { accept: 'text/html' }
  const show = (path: string, token: string) =>
    api.call('GET', `${path}?token=${token}&utm_source=mail`, { headers: html })
  const submit = (path: string, token: string, fields: Record<string, string>) =>
    api.call('POST', `${path}?token=${token}`, {
      raw: new URLSearchParams(fields).toString(),
      headers: { ...html, 'content-type': 'application/x-www-form-urlencoded' },
    })

  test('GET and POST /reset-password: names the address, and a dead link on GET', async () => {
    const { email } = await api.signUp()
    await open('/auth/forgot-password', { email })
    const token = await api.tokenMailedTo(email)
    const page = await show('/reset-password', token)
    expect([page.status, page.text.includes(email)]).toEqual([200, true])
    expect((await submit('/reset-password', token, { password: 'a new and long sentence' })).status).toBe(200)
    expect((await show('/reset-password', token)).status).toBe(400)
  })

  test('GET and POST /forgot-password: the same page for every address', async () => {
    const page = await api.call('GET', '/forgot-password?utm_source=mail', { headers: html })
    expect(page.status).toBe(200)
    const post = (email: string) =>
      api.call('POST', '/forgot-password', {
        raw: new URLSearchParams({ email }).toString(),
        headers: { ...html, 'content-type': 'application/x-www-form-urlencoded' },
      })
    const [known, unknown] = [await post(workspace.email), await post(freshEmail())]
    expect([known.status, known.text]).toEqual([200, unknown.text])
  })

  test('GET and POST /accept-invite: names the workspace and the address', async () => {
    const email = freshEmail()
    const { token: owner } = await api.signUp()
    await call('PATCH /workspace', { name: 'Difference Engines' }, owner)
    await call('POST /invites', { email, role: 'VIEWER' }, owner)
    const token = await api.tokenMailedTo(email)
    const page = await show('/accept-invite', token)
    expect([page.status, page.text.includes(email), page.text.includes('Difference Engines')]).toEqual([
      200,
      true,
      true,
    ])
    expect((await submit('/accept-invite', token, { password, name: 'Grace' })).status).toBe(200)
    expect((await show('/accept-invite', token)).status).toBe(400)
  })

  test('GET and POST /verify-email: names the address; 401 for a wrong password', async () => {
    const { email } = await api.signUp()
    const token = await api.tokenMailedTo(email)
    const page = await show('/verify-email', token)
    expect([page.status, page.text.includes(email)]).toEqual([200, true])
    expect((await submit('/verify-email', token, { password: 'wrong' })).status).toBe(401)
    expect((await submit('/verify-email', token, { password })).status).toBe(200)
    expect((await show('/verify-email', 'forged')).status).toBe(400)
  })
})

test('GET and PATCH /workspace: settings, and a color with enough contrast', async () => {
  const settings = { name: 'Engines', currency: 'USD', postalAddress: '1 Road', logoUrl: 'https://example.com/l.png' }
  const changed = await call('PATCH /workspace', { ...settings, accentColor: '#1a4fd0' })
  expect(changed).toMatchObject({ status: 200, body: { ...settings, accentColor: '#1a4fd0' } })
  expect((await call('GET /workspace')).body).toEqual(changed.body)
  const tooLight = expectError(await call('PATCH /workspace', { accentColor: '#ffff00' }), 400)
  expect(tooLight.issues).toEqual([{ path: 'accentColor', message: expect.stringContaining('contrast') }])
  expectError(await call('PATCH /workspace', { currency: 'EURO' }), 400)
})

test('GET and POST /invites, GET and DELETE /invites/{id}: only mails the token', async () => {
  const email = freshEmail()
  const created = await call('POST /invites', { email, role: 'MEMBER' })
  expect(created).toMatchObject({ status: 201, body: { email, role: 'MEMBER', createdBy: anId('usr') } })
  expect(created.text).not.toContain(await api.tokenMailedTo(email))
  const path = String(created.headers['location'])
  expect((await call(`GET ${path}`)).body).toEqual(created.body)
  expect(await listOf('/invites')).toContainEqual(created.body)
  expect((await call(`DELETE ${path}`)).status).toBe(204)
  expectError(await call(`GET ${path}`), 404)
})

test('POST /invites/{id}/resend: mails a new link, and the one before is dead', async () => {
  const email = freshEmail()
  const { id } = await api.create<{ id: string }>('/invites', workspace.token, { email, role: 'MEMBER' })
  const first = await api.tokenMailedTo(email)
  await api.query(`update mail_requests set created_at = now() - interval '1 hour'`)
  expect((await call(`POST /invites/${id}/resend`)).status).toBe(202)
  expectError(await open('/auth/accept-invite', { token: first, password }), 400, 'Invalid or expired token')
  expect(expectError(await call(`POST /invites/${id}/resend`), 409).code).toBe('quota_exceeded')
})

test('GET /members, GET, PATCH and DELETE /members/{id}: the last OWNER stays', async () => {
  const own = await api.signUp()
  const member = await api.join(own, 'MEMBER')
  const members = await listOf('/members', own.token)
  expect(members.map(({ role }) => role)).toEqual(expect.arrayContaining(['MEMBER', 'OWNER']))
  const path = `/members/${member.id}`
  expect((await call(`GET ${path}`, undefined, own.token)).body).toMatchObject({ id: member.id, role: 'MEMBER' })
  expect((await call(`PATCH ${path}`, { role: 'ADMIN' }, own.token)).body).toMatchObject({ role: 'ADMIN' })
  const owner = members.find(({ role }) => role === 'OWNER')
  const ownerPath = `/members/${String(owner?.['id'])}`
  expect(expectError(await call(`PATCH ${ownerPath}`, { role: 'ADMIN' }, own.token), 409).code).toBe('wrong_state')
  expectError(await call(`DELETE ${ownerPath}`, undefined, own.token), 409)
  expect((await call(`DELETE ${path}`, undefined, own.token)).status).toBe(204)
  expectError(await call('GET /contacts', undefined, member.token), 401)
})

test('GET and POST /api-keys, GET and DELETE /api-keys/{id}: shown once', async () => {
  const created = await call('POST /api-keys', { name: 'Website', role: 'MEMBER' })
  expect(created).toMatchObject({ status: 201, body: { key: expect.stringMatching(/^rpk_/), createdBy: anId('usr') } })
  const { key, ...shown } = created.body
  const path = String(created.headers['location'])
  expect((await call(`GET ${path}`)).body).toEqual(shown)
  expect(await listOf(`/api-keys?createdBy=${String(shown['createdBy'])}`)).toContainEqual(shown)
  expect((await call('GET /contacts', undefined, String(key))).status).toBe(200)
  expect((await call(`DELETE ${path}`)).status).toBe(204)
  expectError(await call('GET /contacts', undefined, String(key)), 401)
})

test('Passwords: 12 to 128 characters, and none of the most common', async () => {
  for (const bad of ['short', 'a'.repeat(129), 'password1234']) {
    const { issues } = expectError(await open('/auth/signup', { email: freshEmail(), password: bad }), 400)
    expect(issues?.[0]?.path).toBe('password')
  }
})
