import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, inject, test } from 'vitest'
import { en } from './texts/en.ts'
import { type ApiResponse, expectError, freshEmail, password, startTestApi } from '../../test/testing.ts'

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

const api = useForFile(() => startTestApi())
const workspace = useForTest(() => api.signUp())
let [email, acceptPath, resetPath, verifyPath] = ['', '', '', '']
beforeEach(async () => {
  verifyPath = `/verify-email?token=${await api.tokenMailedTo(workspace.email)}`
  email = freshEmail()
  await api.create('/invites', workspace.token, { email, role: 'MEMBER' })
  await api.call('POST', '/auth/forgot-password', { body: { email: workspace.email } })
  acceptPath = `/accept-invite?token=${await api.tokenMailedTo(email)}`
  resetPath = `/reset-password?token=${await api.tokenMailedTo(workspace.email)}`
})

const get = (path: string, method = 'GET') => api.call(method, path, { headers: browser })
function post(path: string, fields: Record<string, string>) {
  const headers = { ...browser, 'content-type': 'application/x-www-form-urlencoded' }
  return api.call('POST', path, { raw: new URLSearchParams(fields).toString(), headers })
}
const logIn = (as: string, withPassword: string) =>
  api.call('POST', '/auth/login', { body: { email: as, password: withPassword } })
const problemIn = (text: string) => /role="alert"[^>]*>(?:<p>)?([^<]*)</.exec(text)?.[1]

test('opening a page repeatedly changes nothing, so link scanners are harmless', async () => {
  const readAll = () =>
    api.query(`select (select json_agg(i)::text from invites i), (select json_agg(r)::text from password_resets r),
      (select json_agg(u)::text from users u) as users, (select count(*) from sessions) as sessions`)
  const before = await readAll()
  for (const path of [acceptPath, resetPath, verifyPath]) {
    for (const method of ['GET', 'HEAD', 'GET']) expect(await get(path, method)).toMatchObject({ status: 200 })
  }
  expect(await readAll()).toEqual(before)
})

test('a page has no scripts, external resources or token, and allows no frame or cache', async () => {
  for (const path of [acceptPath, resetPath, verifyPath, '/accept-invite', '/forgot-password']) {
    const { headers, text } = await get(path)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store, max-age=0, private',
    })
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    )
    expect(text).not.toMatch(/<script|src=|https?:|\son\w+=|rp[ir]_/)
    expect(text.replace('href="forgot-password"', '')).not.toContain('href=')
  }
})

/** The heading, the address for the password manager, and what it does with the password. */
const namesIn = (text: string) => [
  /<h1>([^<]*)</.exec(text)?.[1],
  /<input type="email" value="([^"]*)" autocomplete="username" readonly/.exec(text)?.[1],
  /id="password" name="password" required autocomplete="([^"]*)"/.exec(text)?.[1],
]

test('a page names the workspace and the address, also after a mistake', async () => {
  await api.call('PATCH', '/workspace', { key: workspace.token, body: { name: 'Acme & <b>' } })
  const expected: [string, string, string, string][] = [
    [acceptPath, `Join Acme &amp; &lt;b&gt; as ${email}`, email, 'new-password'],
    [resetPath, `Choose a new password for ${workspace.email}`, workspace.email, 'new-password'],
    [verifyPath, `Verify ${workspace.email}`, workspace.email, 'current-password'],
  ]
  for (const [path, ...names] of expected) {
    for (const { text } of [await get(path), await post(path, { password: 'wrong' })]) {
      expect(namesIn(text)).toEqual(names)
      expect(text).toContain('<div class="brand">Acme &amp; &lt;b&gt;</div>')
    }
    expect((await post(path, { password })).text).toContain('<div class="brand">Acme &amp; &lt;b&gt;</div>')
  }
})

test('the pages of a user in several workspaces name the address only', async () => {
  const known = await api.signUp()
  await api.create('/invites', workspace.token, { email: known.email, role: 'MEMBER' })
  const path = `/accept-invite?token=${await api.tokenMailedTo(known.email)}`
  expect(await post(path, { password })).toMatchObject({ status: 200 })
  await api.call('POST', '/auth/forgot-password', { body: { email: known.email } })
  const { text } = await get(`/reset-password?token=${await api.tokenMailedTo(known.email)}`)
  expect(text).toContain(`Choose a new password for ${known.email}`)
  expect(text).not.toContain('class="brand"')
})

test('a dead link says so when it is opened, and what to do next', async () => {
  const next: [string, string, string | undefined][] = [
    [resetPath, 'Request a new link to choose a password.', 'forgot-password'],
    [acceptPath, 'Ask the person who invited you to send the invite again.', undefined],
    [verifyPath, 'Request a new verification email', 'forgot-password'],
  ]
  for (const [path, advice, href] of next) {
    for (const opened of [await get(`${path}x`), await post(`${path}x`, { password })]) {
      expect([opened.status, opened.text]).toEqual([400, expect.stringContaining('This link does not work')])
      expect(opened.text).toContain(advice)
      expect(/href="([^"]*)"/.exec(opened.text)?.[1]).toBe(href)
      expect(opened.text).not.toContain('<form')
      expect(opened.text.split('<body>')[1]).not.toMatch(/@|class="brand"/)
    }
    expectError(await api.call('GET', `${path}x`), 400, 'Invalid or expired token')
  }
})

test('a link is dead once it is used, withdrawn or expired', async () => {
  const { body } = await api.call<{ data: { id: string }[] }>('GET', '/invites', { key: workspace.token })
  await api.call('DELETE', `/invites/${body.data[0]?.id}`, { key: workspace.token })
  expect(await get(acceptPath)).toMatchObject({ status: 400 })
  expect(await post(resetPath, { password })).toMatchObject({ status: 200 })
  expect(await get(resetPath)).toMatchObject({ status: 400 })
  await api.call('POST', '/auth/forgot-password', { body: { email: workspace.email } })
  const path = `/reset-password?token=${await api.tokenMailedTo(workspace.email)}`
  expect(await get(path)).toMatchObject({ status: 200 })
  await api.query(`update password_resets set expires_at = now() - interval '1 second'`)
  expect(await get(path)).toMatchObject({ status: 400 })
  // Confirming an address twice is no error.
  expect(await post(verifyPath, { password })).toMatchObject({ status: 200 })
  expect(await get(verifyPath)).toMatchObject({ status: 200 })
})

test('the links of a deleted workspace are dead', async () => {
  const {
    body: { name },
  } = await api.call('GET', '/workspace', { key: workspace.token })
  const deleted = await api.call('DELETE', '/workspace', { key: workspace.token, body: { name } })
  expect(deleted.status).toBe(204)
  // The user had no other workspace, so the account is deleted too.
  for (const path of [acceptPath, resetPath, verifyPath]) {
    expect([path, (await get(path)).status]).toEqual([path, 400])
  }
})

test('GET and POST /reset-password: the form sets the password once', async () => {
  const done = await post(resetPath, { password: 'another sentence that is secret' })
  expect([done.status, done.text]).toEqual([200, expect.stringContaining('Your password is set')])
  expect(await logIn(workspace.email, 'another sentence that is secret')).toMatchObject({ status: 200 })
  const again = await post(resetPath, { password })
  expect([again.status, again.text]).toEqual([
    400,
    expect.stringContaining('It may be incomplete, already used or older than one hour.'),
  ])
  expect(again.text).not.toContain('<form')
})

test('GET and POST /accept-invite: the form adds a user with the entered name', async () => {
  const done = await post(acceptPath, { password, name: ' Grace Hopper ' })
  expect([done.status, done.text]).toEqual([200, expect.stringContaining('You have joined the workspace')])
  expect((await logIn(email, password)).body).toMatchObject({ user: { name: 'Grace Hopper' } })
  expect(await get(acceptPath)).toMatchObject({ status: 400 })
})

test('GET and POST /verify-email: verifies the address with the right password', async () => {
  const refused = await post(verifyPath, { password: 'a wrong password' })
  expect([refused.status, problemIn(refused.text)]).toEqual([401, 'The password is wrong.'])
  expect(refused.headers).toMatchObject({ 'www-authenticate': 'Bearer' })
  const done = await post(verifyPath, { password })
  expect([done.status, done.text]).toEqual([200, expect.stringContaining('Your email address is verified')])
  expect((await logIn(workspace.email, password)).body).toMatchObject({ user: { emailVerifiedAt: expect.any(String) } })
  expect((await post(`${verifyPath}x`, { password })).text).toContain('This link does not work')
})

test('an error is shown above the form, which keeps all input except the password', async () => {
  const name = '"><script>alert(1)</script>'
  const unsuitable = en.account.problems.passwordUnsuitable
  const problems: [Record<string, string>, number, string][] = [
    [{ password: 'short' }, 400, 'The password must have 12 to 128 characters.'],
    [{ password: '1q2w3e4r5t6y' }, 400, unsuitable],
    [{ password: 'with a \u0000 in it' }, 400, unsuitable],
    [{}, 400, 'Please enter a password.'],
  ]
  for (const [fields, status, problem] of problems) {
    for (const path of [acceptPath, resetPath]) {
      const response = await post(path, { ...fields, ...(path === acceptPath && { name }) })
      expect([response.status, problemIn(response.text)]).toEqual([status, problem])
      expect(response.text).toContain('<form method="post">')
      expect(response.text).not.toContain('<script')
      expect(response.text).not.toContain(fields['password'] || 'no password was entered')
    }
  }
  const filled = await post(acceptPath, { password: 'short', name })
  expect(filled.text).toContain('value="&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"')
  const long = await post(acceptPath, { password, name: 'x'.repeat(201) })
  expect(problemIn(long.text)).toBe('Your name can have at most 200 characters, without line breaks.')
  const invalidIn = ({ text }: ApiResponse) =>
    [...text.matchAll(/name="(\w+)"[^>]* aria-invalid="true"/g)].map(([, id]) => id)
  expect([invalidIn(filled), invalidIn(long)]).toEqual([['password'], ['name']])
  // The failed attempts did not consume the link.
  expect(await post(acceptPath, { password })).toMatchObject({ status: 200 })
})

// A cluster refuses triggers.
const isOnCitus = inject('testServices').nodeUrls.length > 1
test.skipIf(isOnCitus)('while the database is busy, the form is shown again with the entered name', async () => {
  await api.query(`
    create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'busy' using errcode = 'too_many_connections'; end $$;
    create trigger busy before delete on invites for each row execute function refuse()`)
  const refused = await post(acceptPath, { password, name: 'Grace' })
  await api.query('drop trigger busy on invites; drop function refuse')
  expect([refused.status, problemIn(refused.text)]).toEqual([503, 'This did not work. Please try again later.'])
  expect(refused.headers).toMatchObject({ 'retry-after': '1', 'content-type': 'text/html; charset=utf-8' })
  expect(refused.text).toContain('value="Grace"')
  expect(await post(acceptPath, { password, name: 'Grace' })).toMatchObject({ status: 200 })
})

test('an existing user joins with the password of the account only', async () => {
  const known = await api.signUp()
  await api.create('/invites', workspace.token, { email: known.email, role: 'MEMBER' })
  const path = `/accept-invite?token=${await api.tokenMailedTo(known.email)}`
  const page = await get(path)
  expect(namesIn(page.text).slice(1)).toEqual([known.email, 'current-password'])
  expect(page.text).toContain('<a href="forgot-password">Forgot your password?</a>')
  expect(page.text).not.toContain('name="name"')
  const refused = await post(path, { password: 'a wrong password' })
  expect([refused.status, problemIn(refused.text)]).toEqual([
    401,
    'This address already has an account: use its password.',
  ])
  expect(await post(path, { password: known.password })).toMatchObject({ status: 200 })
})

test('an invalid link shows a page to browsers and returns JSON to programs', async () => {
  for (const path of ['/reset-password', '/accept-invite', `/reset-password?token=${'x'.repeat(201)}`]) {
    const page = await get(path)
    expect([path, page.status]).toEqual([path, 400])
    expect(page.text).toContain('This link does not work')
    expectError(await api.call('GET', path), 400)
  }
})

test('a page accepts only forms of limited size', async () => {
  const typed = (type: string, raw: string) =>
    api.call('POST', resetPath, { raw, headers: { ...browser, 'content-type': type } })
  for (const type of ['text/plain', 'multipart/form-data; boundary=x']) {
    const message = `The content type must be application/x-www-form-urlencoded, not "${type}"`
    expectError(await typed(type, 'x'), 415, message)
  }
  expectError(await typed('application/x-www-form-urlencoded', 'x'.repeat(65_537)), 413)
  expect(await typed('application/x-www-form-urlencoded', 'password=a&password=b')).toMatchObject({ status: 400 })
  expect(await logIn(workspace.email, password)).toMatchObject({ status: 200 })
})
