import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { freshEmail, startTestApi } from '../../test/testing.ts'

const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const post = (fields: Record<string, string>, from?: string) =>
  api.call('POST', '/forgot-password', {
    raw: new URLSearchParams(fields).toString(),
    headers,
    ...(from !== undefined && { from }),
  })
const countMails = async () => (await api.query(`select from mails where kind = 'PASSWORD_RESET'`)).length

test('GET and POST /forgot-password: the page emails a link that works', async () => {
  const page = await api.call('GET', '/forgot-password', { headers })
  expect(page.text).toMatch(/<input type="email" id="email" name="email" value="" required autocomplete="username">/)
  expect(await post({ email: ` ${workspace.email} ` })).toMatchObject({ status: 200 })
  const opened = await api.call('GET', `/reset-password?token=${await api.tokenMailedTo(workspace.email)}`)
  expect([opened.status, opened.text]).toEqual([200, expect.stringContaining(workspace.email)])
})

test('the response is the same for known and unknown addresses', async () => {
  const responses = [await post({ email: workspace.email }), await post({ email: freshEmail() })]
  const before = await countMails()
  for (let count = 0; count < 4; count++) responses.push(await post({ email: workspace.email }))
  const shown = responses.map(({ status, text, headers: { 'content-security-policy': policy } }) => [
    status,
    text,
    policy,
  ])
  expect(new Set(shown.map((response) => JSON.stringify(response))).size).toBe(1)
  expect(responses[0]).toMatchObject({ status: 200, text: expect.stringContaining('Check your email') })
  // At most three an hour.
  expect((await countMails()) - before).toBeLessThan(3)
})

test('an invalid address is shown again with the error, and sends nothing', async () => {
  const before = await countMails()
  for (const email of ['', 'ada', '"><script>', 'a@example.com\r\nBcc: b@example.com', 'x'.repeat(300)]) {
    const { status, text } = await post({ email })
    expect([email, status]).toEqual([email, 400])
    expect(text).toMatch(/role="alert"[^>]*><p>Please enter an email address/)
    expect(text).toMatch(
      /name="email" value="[^"]*" required autocomplete="username" aria-invalid="true" aria-describedby="problem">/,
    )
    expect(text).not.toContain('<script')
  }
  expect((await post({})).text).toContain('Please enter an email address such as ada@example.com.')
  expect(await countMails()).toBe(before)
})
