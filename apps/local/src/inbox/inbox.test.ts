import { mkdtemp, rm } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { basicAuthorization } from './credentials.ts'
import { startInbox } from './inbox.ts'
import type { Inbox } from './inbox.ts'

const credentials = { user: 'admin', password: 'pässword: with a colon' }
const headers = { authorization: basicAuthorization(credentials) }

let directory: string
let smtpPort: number
let webPort: number
let inbox: Inbox

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rapport-inbox-'))
  smtpPort = await findFreePort()
  webPort = await findFreePort()
  inbox = await startInbox({ directory, smtpPort, webPort, credentials })
})
afterAll(async () => {
  await inbox.stop()
  await rm(directory, { recursive: true, force: true })
})
beforeEach(async () => {
  await fetch(address('/email'), { method: 'DELETE', headers })
})

test('returns the newest mail to a recipient as JSON and as text', async () => {
  await send({ to: 'ada@example.com', subject: 'First', text: 'one' })
  await send({ to: 'Ada <ADA@example.com>', subject: 'Zweite ✓', text: 'two', html: '<p>zwei</p>' })
  await send({ to: 'bob@example.com', subject: 'Other', text: 'three' })

  const mail = await getJson('/email/latest?to=ada@example.com')
  expect(mail).toMatchObject({
    subject: 'Zweite ✓',
    from: { name: 'Rapport', address: 'hello@rapport.localhost' },
    deliveredTo: ['ADA@example.com'],
    html: '<p>zwei</p>\n',
  })
  expect(await getText('/email/latest/text?to=ada@example.com')).toBe('two\n')
  expect(await getJson('/email?to=ada@example.com')).toHaveLength(2)
  expect((await fetch(address('/email/latest?to=unknown@example.com'), { headers })).status).toBe(404)
})

test('returns headers unchanged, including List-Unsubscribe-Post', async () => {
  await send({ subject: 'News', text: 'x', headers: { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } })
  const mail = await getJson('/email/latest')
  expect(mail.headers).toContainEqual({ name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' })
})

test('finds a blind copy by its recipient', async () => {
  await send({ to: 'ada@example.com', bcc: 'eve@example.com', subject: 'Secret', text: 'x' })
  expect(await getJson('/email/latest?to=eve@example.com')).toMatchObject({ subject: 'Secret' })
})

test('keeps mails over a restart', async () => {
  await send({ subject: 'Kept', text: 'x' })
  await inbox.stop()
  inbox = await startInbox({ directory, smtpPort, webPort, credentials })
  expect(await getJson('/email')).toMatchObject([{ subject: 'Kept' }])
})

test('the page lists a mail and shows it in a sandboxed frame without scripts', async () => {
  await send({ subject: 'Shown', html: '<script>alert(1)</script>' })
  const { id } = await getJson('/email/latest')
  const page = await getText(`/?mail=${id}`)
  expect(page).toContain('<b>Shown</b>')
  expect(page).toContain('sandbox="allow-popups allow-popups-to-escape-sandbox"')
  const frame = await fetch(address(`/email/${id}/html`), { headers })
  expect(frame.headers.get('content-security-policy')).toMatch(/^sandbox allow-popups .*default-src 'none'/)
})

test.each([
  ['no credentials', undefined],
  ['a wrong password', basicAuthorization({ ...credentials, password: 'wrong' })],
  ['a wrong user', basicAuthorization({ ...credentials, user: 'root' })],
  ['a bearer token', 'Bearer rpk_abc'],
])('with %s, nothing can be read or deleted', async (_, authorization) => {
  await send({ subject: 'Reset your password', text: 'secret' })
  const { id } = await getJson('/email/latest')
  const paths = ['/', `/?mail=${id}`, '/email', '/email/latest', `/email/${id}`, `/email/${id}/source`, '/changes']
  const requests = [...paths.map((path) => ['GET', path] as const), ['DELETE', '/email'], ['POST', '/email']] as const
  for (const [method, path] of requests) {
    const response = await fetch(address(path), { method, ...(authorization && { headers: { authorization } }) })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Basic realm="Rapport inbox", charset="UTF-8"')
    expect(await response.text()).not.toMatch(/secret|Reset/)
  }
  expect(await getJson('/email')).toHaveLength(1)
})

test('rejects requests with a foreign Host header (DNS rebinding)', async () => {
  const status = await new Promise((resolve, reject) => {
    const foreign = { ...headers, host: `evil.test:${webPort}` }
    const request = get({ host: '127.0.0.1', port: webPort, path: '/email', headers: foreign })
    request.on('response', (response) => (response.resume(), resolve(response.statusCode))).on('error', reject)
  })
  expect(status).toBe(403)
})

test('open connections do not delay the stop', async () => {
  const transport = createTransport({ host: '127.0.0.1', port: smtpPort, pool: true })
  await transport.sendMail({ from: 'a@example.com', to: 'b@example.com', text: 'x' })
  const page = await fetch(address('/changes'), { headers })
  await expect(inbox.stop()).resolves.toBeUndefined()
  transport.close()
  await page.body?.cancel().catch(() => {})
  inbox = await startInbox({ directory, smtpPort, webPort, credentials })
})

async function send(message: { to?: string; [field: string]: unknown }): Promise<void> {
  const transport = createTransport({ host: '127.0.0.1', port: smtpPort })
  await transport.sendMail({ from: 'Rapport <hello@rapport.localhost>', to: 'ada@example.com', ...message })
  transport.close()
}

const address = (path: string) => `http://localhost:${webPort}${path}`

async function getText(path: string): Promise<string> {
  return (await fetch(address(path), { headers })).text()
}

async function getJson(path: string): Promise<{ id: string; headers: unknown[] }> {
  const response = await fetch(address(path), { headers })
  return (await response.json()) as { id: string; headers: unknown[] }
}
