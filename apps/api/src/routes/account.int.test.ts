/** Password resets, email verification and invites: routes without a credential. */
import { defaultPasswordCost } from '@rapport/core/auth/passwords.ts'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { type ApiResponse, expectError, freshEmail, password, startTestApi } from '../../test/testing.ts'

const newPassword = 'another sentence that is secret'

// Cheap password checks would not fill their queue.
const api = useForFile(() => startTestApi({ settings: { passwordCost: defaultPasswordCost } }))
const workspace = useForTest(() => api.signUp())

const post = (path: string, body: unknown) => api.call('POST', path, { body })
const forgot = (email: string) => post('/auth/forgot-password', { email })
const reset = (body: Record<string, unknown>) => post('/auth/reset-password', body)
const verify = (body: Record<string, unknown>) => post('/auth/verify-email', body)
const accept = (body: Record<string, unknown>) => post('/auth/accept-invite', body)
const logIn = (email: string, withPassword: string) => post('/auth/login', { email, password: withPassword })

async function invite(email = freshEmail(), role = 'MEMBER') {
  const { id } = await api.create<{ id: string }>('/invites', workspace.token, { email, role })
  return { id, email, token: await api.tokenMailedTo(email) }
}

/** Everything in a response except what always differs. */
function toComparable({ status, text, headers }: ApiResponse<unknown>) {
  const { date: _date, 'x-request-id': _id, ...rest } = headers
  return { status, text, headers: rest }
}

test('POST /auth/forgot-password: known and unknown addresses get the same response', async () => {
  const responses = [await forgot('unknown@example.com')]
  for (let count = 0; count < 5; count++) responses.push(await forgot(workspace.email))
  responses.push(await forgot(workspace.email.toUpperCase()), await forgot('unknown@bücher.example'))
  for (const response of responses) expect(toComparable(response)).toEqual(toComparable(responses[0] as ApiResponse))
  expect(responses[0]).toMatchObject({ status: 202, text: '' })
  const mails = await api.query(`select from mails where to_address = $1 and kind = 'PASSWORD_RESET'`, [
    workspace.email,
  ])
  expect(mails).toHaveLength(3)
})

test('POST /auth/reset-password: sets the password once and ends every session', async () => {
  await verify({ token: await api.tokenMailedTo(workspace.email), password })
  await forgot(workspace.email)
  const token = await api.tokenMailedTo(workspace.email)
  expect(token).toMatch(/^rpr_[\w-]{43}$/)
  expect(await reset({ token, password: newPassword })).toMatchObject({ status: 204, text: '' })
  expectError(await api.call('GET', '/auth/me', { key: workspace.token }), 401)
  // API keys stay valid.
  expect(await api.call('GET', '/auth/me', { key: workspace.key })).toMatchObject({ status: 200 })
  expectError(await logIn(workspace.email, password), 401)
  expect(await logIn(workspace.email, newPassword)).toMatchObject({ status: 200 })
  expectError(await reset({ token, password }), 400, 'Invalid or expired token')
})

test('wrong, expired and revoked tokens get the same 400 response', async () => {
  await forgot(workspace.email)
  const [resetting, inviting] = [await api.tokenMailedTo(workspace.email), await invite()]
  await api.query('update password_resets set expires_at = now()')
  await api.call('DELETE', `/invites/${inviting.id}`, { key: workspace.token })
  const expired = await invite()
  await api.query('update invites set expires_at = now()')
  const wrong = ['', 'x', 'rpr_', 'x'.repeat(200), "' or true --", workspace.token, workspace.key]
  for (const token of [...wrong, resetting, inviting.token, expired.token]) {
    for (const response of [
      await reset({ token, password }),
      await accept({ token, password }),
      await verify({ token, password }),
    ]) {
      expect([token, response.status, response.text]).toEqual([
        token,
        400,
        '{"statusCode":400,"message":"Invalid or expired token","error":"Bad Request","code":"invalid_token","docUrl":"https://crm.example.com/docs/errors#invalid_token"}',
      ])
    }
  }
})

test('a flood of logins does not delay authenticated requests', async () => {
  const ended: string[] = []
  const done = (what: string) => () => void ended.push(what)
  const floods = Array.from({ length: 34 }, (_, index) =>
    logIn(`flood-${index}@example.com`, password).then(done('login')),
  )
  const reading = api.call('GET', '/contacts', { key: workspace.key }).then(done('read'))
  await Promise.all([...floods, reading])
  expect(ended.indexOf('read')).toBeLessThan(17)
})

test('POST /auth/accept-invite: creates a user; an existing one needs the password', async () => {
  const [newUser, known] = [await invite(), await api.signUp()]
  expect(await accept({ token: newUser.token, password, name: ' Grace ' })).toMatchObject({ status: 204, text: '' })
  expect((await logIn(newUser.email, password)).body).toMatchObject({ user: { name: 'Grace' } })
  const { token } = await invite(known.email, 'VIEWER')
  expectError(await accept({ token, password: newPassword }), 401)
  expect(await accept({ token, password: known.password })).toMatchObject({ status: 204 })
  const { body } = await post('/auth/login', { email: known.email, password, workspaceId: workspace.id })
  expect(await api.call('GET', '/auth/me', { key: String(body['token']) })).toMatchObject({ body: { role: 'VIEWER' } })
})

const wrongFields: [string, Record<string, unknown>, string[]][] = [
  ['/auth/forgot-password', {}, ['email']],
  ['/auth/forgot-password', { email: 'a@example.com\r\nBcc: eve@example.com' }, ['email']],
  ['/auth/forgot-password', { email: ['a@example.com'], role: 'OWNER' }, ['email', 'role']],
  ['/auth/reset-password', {}, ['token', 'password']],
  ['/auth/reset-password', { token: 5, password: 'short' }, ['token', 'password']],
  ['/auth/accept-invite', { token: 5, password: 'x'.repeat(129), name: 'a\nb' }, ['token', 'password', 'name']],
  ['/auth/verify-email', { token: 5, email: 'x' }, ['token', 'password', 'email']],
  ['/auth/accept-invite', { token: 'x', password, role: 'OWNER' }, ['role']],
]
test.each(wrongFields)('POST %s with %j returns 400 and names the fields', async (path, body, fields) => {
  const { issues } = expectError(await post(path, body), 400)
  expect(issues?.map((issue) => issue.path)).toEqual(fields)
})

test('no response, log line or table contains a token', async () => {
  const verboseApi = await startTestApi({ environment: { LOG_LEVEL: 'trace' } })
  const { token: session, email } = await verboseApi.signUp()
  const address = freshEmail()
  const asked = await verboseApi.call('POST', '/invites', { key: session, body: { email: address, role: 'MEMBER' } })
  await verboseApi.call('POST', '/auth/forgot-password', { body: { email } })
  const tokens = [await verboseApi.tokenMailedTo(address), await verboseApi.tokenMailedTo(email)]
  const responses = [asked.text]
  for (const path of ['/invites', '/members', '/auth/me', '/workspace']) {
    responses.push((await verboseApi.call('GET', path, { key: session })).text)
  }
  for (const token of tokens) {
    const sent = { body: { token, password: newPassword } }
    responses.push((await verboseApi.call('POST', '/auth/reset-password', sent)).text)
    responses.push(
      (await verboseApi.call('POST', '/auth/accept-invite', { body: { ...sent.body, nonsense: token } })).text,
    )
    responses.push((await verboseApi.call('GET', `/reset-password?token=${token}`)).text)
    responses.push((await verboseApi.call('POST', `/accept-invite?token=${token}`, { raw: 'x' })).text)
  }
  const tables = await verboseApi.query(
    `select table_name as name from information_schema.tables where table_schema = 'public'`,
  )
  const rows = tables.map(({ name }) => verboseApi.query(`select json_agg(t)::text as text from ${String(name)} t`))
  const everything = [...responses, verboseApi.takeLog().join(''), JSON.stringify(await Promise.all(rows))].join('\n')
  for (const secret of [...tokens, newPassword, session]) expect(everything).not.toContain(secret)
  await verboseApi.close()
})
