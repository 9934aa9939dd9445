import type { Session } from '@rapport/core/auth/auth.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, password, startTestApi, countStatuses } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())

const signUp = (body: Record<string, unknown>) => api.call<Session>('POST', '/auth/signup', { body })
const logIn = (body: Record<string, unknown>) => api.call<Session>('POST', '/auth/login', { body })
const readMe = (key: string) => api.call('GET', '/auth/me', { key })

const aToken: unknown = expect.stringMatching(/^rps_[\w-]{43}$/)

test('POST /auth/signup, GET /auth/me: a user, a workspace, a session for 30 days', async () => {
  const email = freshEmail()
  const response = await signUp({ email: ` ${email} `, password, name: ' Ada ', workspaceName: 'Engines' })
  expect(response.status).toBe(201)
  expect(response.headers['location']).toBe('/auth/me')
  expect(response.body).toEqual({
    token: aToken,
    expiresAt: aTimestamp,
    user: { id: anId('usr'), email, name: 'Ada', emailVerifiedAt: null, createdAt: aTimestamp },
    workspace: {
      id: anId('wsp'),
      name: 'Engines',
      currency: 'EUR',
      fromName: null,
      fromEmail: null,
      postalAddress: null,
      logoUrl: null,
      accentColor: null,
      confirmChangedAddress: false,
      trackingWithoutConsent: 'ANONYMOUS',
      locale: null,
      suspendedAt: null,
      createdAt: aTimestamp,
      updatedAt: aTimestamp,
    },
  })
  const days = (Date.parse(response.body.expiresAt) - Date.now()) / 86_400_000
  expect(days).toBeCloseTo(30, 2)
  const me = await readMe(response.body.token)
  expect(me.body).toEqual({
    kind: 'user',
    role: 'OWNER',
    user: response.body.user,
    apiKey: null,
    workspace: response.body.workspace,
  })
})

test('GET /pipelines: "Sales" with its stages in order, after a sign-up', async () => {
  const { token } = (await signUp({ email: freshEmail(), password })).body
  const { status, body } = await api.call('GET', '/pipelines', { key: token })
  const names = ['Lead', 'Qualified', 'Proposal', 'Negotiation']
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      data: [
        {
          id: anId('pip'),
          name: 'Sales',
          stages: names.map((name, position) => ({
            id: anId('stg'),
            name,
            position,
            winProbability: expect.any(Number),
          })),
          createdAt: aTimestamp,
          updatedAt: aTimestamp,
        },
      ],
      nextCursor: null,
    },
  })
})

test('a workspace without a name is named after its user, without the address', async () => {
  const email = freshEmail()
  const [named, nameless] = [
    await signUp({ email: freshEmail(), password, name: 'Ada' }),
    await signUp({ email, password }),
  ]
  expect(named.body.workspace.name).toBe("Ada's workspace")
  expect(nameless.body.workspace.name).toBe(`${email.split('@')[0]}'s workspace`)
  const long = await signUp({ email: freshEmail(), password, name: 'x'.repeat(200) })
  expect(long.body.workspace.name).toBe(`${'x'.repeat(188)}'s workspace`)
})

test('a registered address returns 409 in any spelling and creates nothing', async () => {
  const email = freshEmail()
  await signUp({ email, password })
  const count = () => api.query('select count(*) from workspaces')
  const before = await count()
  for (const again of [email, email.toUpperCase(), ` ${email}`]) {
    const { code } = expectError(await signUp({ email: again, password }), 409, 'Email already registered')
    expect(code).toBe('already_exists')
  }
  expect(await count()).toEqual(before)
})

test('of 20 concurrent sign-ups with one address, exactly one succeeds', async () => {
  const email = freshEmail()
  const responses = await Promise.all(Array.from({ length: 20 }, () => signUp({ email, password })))
  expect(countStatuses(responses)).toEqual({ 201: 1, 409: 19 })
})

test('stores an international domain in ASCII; login accepts both forms', async () => {
  const typed = `ada${freshEmail().split('@')[0]}@bücher.example`
  const session = await signUp({ email: typed, password })
  expect(session.body.user.email).toMatch(/@xn--bcher-kva\.example$/)
  expect(await logIn({ email: typed, password })).toMatchObject({ status: 200 })
  expect(await logIn({ email: session.body.user.email, password })).toMatchObject({ status: 200 })
})

test('passwords are compared exactly', async () => {
  for (const typed of [
    '  spaces at both ends  ',
    'ünïcödé 🔑 pässwörd',
    'nul is no part, tab\tis',
    'x'.repeat(100) + 'Y'.repeat(28),
  ]) {
    const email = freshEmail()
    expect(await signUp({ email, password: typed })).toMatchObject({ status: 201 })
    expect(await logIn({ email, password: typed })).toMatchObject({ status: 200 })
    for (const wrong of [typed.trim() + '.', typed.toUpperCase() + '.', typed.slice(0, -1), `${typed} `]) {
      expectError(await logIn({ email, password: wrong }), 401, 'Invalid email or password')
    }
  }
})

const weak = {
  common: '1q2w3e4r5t6y',
  'common, in capitals': '1Q2W3E4R5T6Y',
  'one repeated character': 'aaaaaaaaaaaaaaaa',
  'the email address': 'ada.lovelace@example.com',
  'the email address in capitals': 'ADA.LOVELACE@EXAMPLE.COM',
  '11 characters long': 'eleven char',
  '129 characters long': 'x1'.repeat(64) + 'x',
}
test.each(Object.entries(weak))('rejects a password that is %s', async (_name, password) => {
  const { issues } = expectError(await signUp({ email: 'ada.lovelace@example.com', password }), 400)
  expect(issues).toEqual([{ path: 'password', message: expect.any(String) }])
})

const nonTexts: unknown[] = [undefined, null, 5, ['ada@example.com'], { $ne: 1 }]
const badValues: [string, unknown[]][] = [
  ['email', [...nonTexts, '', 'ada', 'a@b', 'ada@example.com\r\nBcc: eve@example.com', 'x'.repeat(1_000_000)]],
  ['password', [...nonTexts, '', 'short', 'x'.repeat(129), 'x'.repeat(1_000_000)]],
  ['name', [5, ['a'], 'x'.repeat(201), 'a\nb']],
  ['workspaceName', [5, '', '  ', 'x'.repeat(201), 'a\u0001b']],
  ['role', ['OWNER']],
]
test.each(badValues)('a sign-up with an invalid %s returns 400 and creates no user', async (field, values) => {
  const count = () => api.query('select count(*) from users')
  const before = await count()
  for (const value of values) {
    const response = await signUp({ email: freshEmail(), password, [field]: value })
    const { issues } = expectError(response, 400)
    expect(new Set(issues?.map(({ path }) => path))).toEqual(new Set([field]))
    expect(response.text.length).toBeLessThan(400)
  }
  expect(await count()).toEqual(before)
})

test('a login with an invalid field returns 400 and names it', async () => {
  const wrong: [string, unknown[]][] = [
    ['email', [...nonTexts, 'x'.repeat(255), 'a\nb']],
    ['password', [...nonTexts, 'x'.repeat(1_001)]],
    ['workspaceId', [5, '', 'nope', 'usr_01kag7m3v9e8fs2t4w6x8y0z1b', 'x'.repeat(99)]],
    ['otp', ['123456']],
  ]
  for (const [field, values] of wrong) {
    for (const value of values) {
      const { issues } = expectError(await logIn({ email: 'ada@example.com', password, [field]: value }), 400)
      expect(issues?.map(({ path }) => path)).toEqual([field])
    }
  }
})

test('each login creates a new session, in the selected workspace', async () => {
  const email = freshEmail()
  const { body: first } = await signUp({ email, password })
  const { body: second } = await signUp({ email: freshEmail(), password })
  // Also a member of the second workspace, as after an accepted invite.
  await api.query(
    `insert into members (workspace_id, user_id, role)
     select w.id, u.id, 'VIEWER' from workspaces w, users u where w.name = $1 and u.email = $2`,
    [second.workspace.name, email],
  )
  const byDefault = await logIn({ email: email.toUpperCase(), password })
  expect(byDefault).toMatchObject({
    status: 200,
    body: { user: first.user, workspace: first.workspace, token: aToken },
  })
  expect(Object.keys(byDefault.body)).toEqual(['token', 'expiresAt', 'user', 'workspace'])
  expect(byDefault.body.token).not.toBe(first.token)
  const chosen = await logIn({ email, password, workspaceId: second.workspace.id })
  expect(chosen).toMatchObject({ status: 200, body: { user: first.user, workspace: second.workspace } })
  expect((await readMe(chosen.body.token)).body).toMatchObject({
    role: 'VIEWER',
    workspace: { id: second.workspace.id },
  })
})

test('POST /auth/login: any wrong credential gets the same 401', async () => {
  const email = freshEmail()
  await signUp({ email, password })
  const { body: other } = await signUp({ email: freshEmail(), password })
  const failures = [
    { email: 'unknown@example.com', password },
    { email: 'not an address', password },
    { email: '', password: '' },
    { email, password: 'a long sentence that is wrong' },
    { email, password: '' },
    { email, password: 'x'.repeat(1000) },
    { email, password, workspaceId: other.workspace.id },
    { email, password, workspaceId: 'wsp_01kag7m3v9e8fs2t4w6x8y0z1b' },
    { email: `${email}' or '1'='1`, password },
  ]
  for (const body of failures) {
    const response = await logIn(body)
    expectError(response, 401, 'Invalid email or password')
    expect(response.text).toBe(
      '{"statusCode":401,"message":"Invalid email or password","error":"Unauthorized","code":"unauthorized","docUrl":"https://crm.example.com/docs/errors#unauthorized"}',
    )
  }
})

test('POST /auth/logout: invalidates its own token immediately, and no other', async () => {
  const email = freshEmail()
  const [{ body: first }, { body: second }] = [await signUp({ email, password }), await logIn({ email, password })]
  const response = await api.call('POST', '/auth/logout', { key: first.token })
  expect(response).toMatchObject({ status: 204, text: '' })
  expectError(await readMe(first.token), 401)
  expectError(await api.call('POST', '/auth/logout', { key: first.token }), 401)
  expect(await readMe(second.token)).toMatchObject({ status: 200 })
})

test('a logout is not replayed for another session with the same Idempotency-Key', async () => {
  const email = freshEmail()
  const [{ body: first }, { body: second }] = [await signUp({ email, password }), await logIn({ email, password })]
  for (const { token } of [first, second]) {
    const headers = { 'idempotency-key': 'leave' }
    expect(await api.call('POST', '/auth/logout', { key: token, headers })).toMatchObject({ status: 204 })
    expectError(await readMe(token), 401)
  }
})

test('a logout with an API key returns 403 and says how to revoke the key', async () => {
  const { key } = await api.signUp()
  const message = 'An API key has no session: to revoke the key, call DELETE /api-keys/{id}'
  expectError(await api.call('POST', '/auth/logout', { key }), 403, message)
  expect(await readMe(key)).toMatchObject({ status: 200 })
})

test('/auth/me with an API key returns its name and role, but not the key', async () => {
  const { key, id, token } = await api.signUp()
  const viewer = await api.issueKey(token, 'VIEWER')
  const { body } = await readMe(viewer)
  expect(body).toEqual({
    kind: 'apiKey',
    role: 'VIEWER',
    user: null,
    apiKey: {
      id: anId('key'),
      name: 'VIEWER',
      role: 'VIEWER',
      rights: null,
      prefix: viewer.slice(0, 10),
      createdBy: anId('usr'),
      expiresAt: null,
      lastUsedAt: aTimestamp,
      createdAt: aTimestamp,
    },
    workspace: expect.objectContaining({ id }),
  })
  expect((await readMe(key)).text).not.toContain(key)
})
