/** The example `examples/saas-welcome`: a sign-up that sends a welcome email. */
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startExample } from './run-example.ts'
import { type Stack, startStack } from './stack.ts'

let stack: Stack
beforeAll(async () => {
  stack = await startStack('postgres')
})
afterAll(() => stack.close())

test('the sign-up sends one welcome email per user, whose link verifies the address', async () => {
  const { api, inbox } = stack
  const { key } = await api.createWorkspace()
  const port = await findFreePort()
  const env = { PORT: String(port) }
  const example = await startExample('saas-welcome', { apiUrl: api.url, key, env }, /The sign-up is at/)
  const signUp = async (email: string) => {
    const body = new URLSearchParams({ email, firstName: 'Ada' })
    const response = await fetch(`http://localhost:${port}/sign-up`, { method: 'POST', body })
    return { status: response.status, page: await response.text() }
  }

  const signedUpAt = Date.now()
  expect(await signUp('ada@example.com')).toEqual({
    status: 200,
    page: expect.stringContaining('Look into your inbox'),
  })
  const mail = await inbox.waitFor(({ to }) => to[0] === 'ada@example.com')
  // Within a second on a machine that does nothing else.
  expect(Date.now() - signedUpAt).toBeLessThan(5_000)
  expect(mail.subject).toBe('Welcome, Ada')
  const link = /http:\S+\/verify\?token=[\w-]+/.exec(mail.text)?.[0] ?? ''
  expect((await fetch(`${link}x`)).status).toBe(404)
  expect(await (await fetch(link)).text()).toContain('Your address is verified')

  expect(await signUp('ADA@example.com')).toMatchObject({ status: 200 })
  expect(await signUp('no address')).toMatchObject({ status: 400 })
  await api.call('POST', '/suppressions', { key, body: { email: 'bob@example.com', reason: 'MANUAL' } })
  expect(await signUp('bob@example.com')).toEqual({ status: 409, page: expect.stringContaining('Another address') })
  const emails = await api.call<{ data: object[] }>('GET', '/emails', { key })
  expect(emails.body.data).toMatchObject([{ status: expect.stringMatching(/SENT|PENDING/), ground: 'REQUEST' }])
  example.kill()
  await example.exited

  const again = await startExample('saas-welcome', { apiUrl: api.url, key, env }, /The sign-up is at/)
  const templates = await api.call('GET', '/templates', { key })
  expect(templates.body).toMatchObject({ data: [{ name: 'Welcome', version: 1 }] })
  again.kill()
  await again.exited
})
