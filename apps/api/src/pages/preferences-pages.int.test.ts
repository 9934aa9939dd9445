import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { preferencesUrl, testPreferencesUrl } from '@rapport/core/consent/preferences-links.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { type Call, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
let list: List
let contact: Contact
let path: string
beforeEach(async () => {
  const description = 'Every <first> Monday\nof the month'
  list = await api.create<List>('/lists', workspace.key, { name: 'News & <b>', description })
  contact = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail(), firstName: 'Hedy' })
  await subscribe(list)
  path = withoutOrigin(preferencesUrl(api.ctx(workspace.id), { contactId: contact.id, email: contact.email }))
})

const withoutOrigin = (url: string) => url.replace('https://crm.example.com', '')
const subscribe = ({ id }: List) =>
  api.call('POST', `/lists/${id}/subscribers`, {
    key: workspace.key,
    body: { contactId: contact.id, status: 'CONFIRMED' },
  })
const get = (from = path) => api.call('GET', from, { headers: browser })
const tokenIn = (url: string) => /token=(.*)$/.exec(url)?.[1] ?? ''
const post = (fields: Record<string, string>, call: Call = {}) =>
  api.call('POST', '/public/preferences', {
    raw: new URLSearchParams({ token: tokenIn(path), ...fields }).toString(),
    headers: { ...browser, 'content-type': 'application/x-www-form-urlencoded' },
    ...call,
  })
const readStatus = async () =>
  (await api.call<Contact>('GET', `/contacts/${contact.id}`, { key: workspace.key })).body.emailSubscribedStatus
/** All rows that a request could change. */
const readAll = async () => [
  await api.query('select * from contacts order by id'),
  await api.query('select * from subscriptions order by contact_id, list_id'),
  await api.query('select * from suppressions order by id'),
  await api.query('select count(*) from events'),
  await api.query('select count(*) from mails'),
]
/** The URLs that a mail scanner could find in a page. */
const urlsIn = (text: string) => [...text.matchAll(/(?:href|action|src)="([^"]*)"/g)].map(([, url = '']) => url)

test('GET /public/preferences: requests of a mail scanner change nothing', async () => {
  const before = await readAll()
  const { text } = await get()
  for (const url of [path, ...urlsIn(text).map((found) => `/public/${found.replaceAll('&amp;', '&')}`)]) {
    for (const method of ['GET', 'HEAD', 'GET']) {
      const { status } = await api.call(method, url, { headers: browser })
      expect([method, url, status]).toEqual([method, url, 200])
    }
  }
  for (const query of ['&stop=all', `&leave=${list.id}`]) expect((await get(path + query)).status).toBe(200)
  expect(await readAll()).toEqual(before)
})

test('the page is private: no profile, cache, index, referrer, script or resource', async () => {
  const { headers, text } = await get()
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store, max-age=0, private',
    'x-robots-tag': 'noindex',
  })
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  )
  expect(text).not.toMatch(/<script|src=|href=|https?:|\son\w+=/)
  const [local = '', domain = ''] = contact.email.split('@')
  expect(text).toContain(`${local[0]}•••@${domain[0]}••••.com`)
  for (const hidden of [contact.email, local, 'Hedy', contact.id]) expect(text).not.toContain(hidden)
})

test('the page shows name and description of a list, and its button unsubscribes', async () => {
  const page = await get()
  expect(page.text).toContain('<strong>News &amp; &lt;b&gt;</strong>')
  expect(page.text).toContain('<p>Every &lt;first&gt; Monday\nof the month</p>')
  expect(page.text).toContain(`name="leave" value="${list.id}" aria-label="Unsubscribe: News &amp; &lt;b&gt;"`)
  const left = await post({ leave: list.id })
  expect([left.status, await readStatus()]).toEqual([200, 'UNSUBSCRIBED'])
  expect(left.text).toMatch(/role="status"[^>]*><p>You will no longer receive “News &amp; &lt;b&gt;” from /)
  const asked = await post({ return: list.id })
  expect(asked.text).toMatch(/role="status"[^>]*><p>To subscribe again, use the link in the email/)
  expect(await readStatus()).toBe('UNSUBSCRIBED')
  expect((await post({ return: list.id })).text).toMatch(/role="status"[^>]*><p>No email was sent/)
  await api.call('POST', `/public/subscriptions/confirm?token=${await api.tokenMailedTo(contact.email)}`)
  expect(await readStatus()).toBe('SUBSCRIBED')
})

test('POST /public/preferences: one button stops all newsletters, and the page says so', async () => {
  const stopped = await post({ stop: 'all' })
  expect([stopped.status, await readStatus()]).toEqual([200, 'UNSUBSCRIBED'])
  expect(stopped.text).toContain('no longer sends you any newsletters, including those that are added later.')
  expect(stopped.text).not.toContain('name="stop"')
  expectError(await subscribe(await api.create<List>('/lists', workspace.key, { name: 'Later' })), 409)
  const { body } = await api.call<{ data: unknown[] }>(
    'GET',
    `/suppressions?email=${encodeURIComponent(contact.email)}`,
    { key: workspace.key },
  )
  expect(body.data).toMatchObject([{ reason: 'OPTED_OUT', source: 'LINK' }])
  expect((await post({ stop: 'all' })).text).toBe(stopped.text)
})

test('the page asks what may be recorded: without a tick it is denied at once', async () => {
  const readConsent = async () =>
    (await api.call('GET', `/contacts/${contact.id}/tracking-consent`, { key: workspace.key })).body
  expect((await get()).text.match(/type="checkbox"[^>]*>/g)).toEqual([
    expect.not.stringContaining('checked'),
    expect.not.stringContaining('checked'),
  ])
  const asked = await post({ tracking: 'save', opens: 'allow' })
  expect(asked.text).toMatch(/role="status"[^>]*><p>To allow this, use the link in the email/)
  expect(await readConsent()).toMatchObject({ opens: 'UNKNOWN', clicks: 'DENIED' })
  await api.call('POST', `/public/tracking/confirm?token=${await api.tokenMailedTo(contact.email)}`)
  expect((await get()).text).toMatch(/name="opens"[^>]* checked>/)
  expect((await post({ tracking: 'save' })).text).toMatch(/role="status"[^>]*><p>Saved/)
  expect(await readConsent()).toMatchObject({ opens: 'DENIED', clicks: 'DENIED' })
})

test('the page emails the person their data, and soon after says that it did', async () => {
  expect((await post({ data: 'email' })).text).toMatch(/role="status"[^>]*><p>We are sending your data to \S+•••@/)
  expect((await post({ data: 'email' })).text).toMatch(
    /role="status"[^>]*><p>Your data was not sent. You may have received it a short time ago/,
  )
  expect(await api.query('select to_address from mails where to_address = $1', [contact.email])).toHaveLength(1)
})

test('the page of a deleted contact says that nothing is kept, and can stop all mail', async () => {
  await api.call('DELETE', `/contacts/${contact.id}`, { key: workspace.key })
  expect((await get()).text).toContain('keeps no data about you in its contact database.')
  const stopped = await post({ stop: 'all' })
  expect([stopped.status, stopped.text]).toEqual([200, expect.stringContaining('keeps only your wish')])
})

test('the page of a deleted workspace says so, and changes nothing', async () => {
  const gone = await api.signUp()
  const other = await api.create<Contact>('/contacts', gone.key, { email: freshEmail() })
  const url = withoutOrigin(preferencesUrl(api.ctx(gone.id), { contactId: other.id, email: other.email }))
  const { body } = await api.call('GET', '/workspace', { key: gone.token })
  await api.call('DELETE', '/workspace', { key: gone.token, body: { name: body['name'] } })
  const before = await readAll()
  for (const { status, text } of [await get(url), await post({ token: tokenIn(url), stop: 'all' })])
    expect([status, text]).toEqual([200, expect.stringContaining('This sender no longer exists')])
  expect(await readAll()).toEqual(before)
})

test('a forged, truncated or foreign token is a calm error page, and changes nothing', async () => {
  const before = await readAll()
  const unsubscribeToken = tokenIn(
    unsubscribeUrl(api.ctx(workspace.id), { listId: list.id, contactId: contact.id, email: contact.email }),
  )
  for (const token of ['x', tokenIn(path).slice(0, -1), `${tokenIn(path)}x`, unsubscribeToken, 'a.b']) {
    const opened = [await get(`/public/preferences?token=${token}`), await post({ token, stop: 'all' })]
    for (const { status, text } of opened) {
      expect([status, text]).toEqual([400, expect.stringContaining('This link does not work')])
      expect(text).not.toContain('class="brand"')
    }
  }
  for (const fields of [{ leave: 'x' }, { return: contact.id }]) expect((await post(fields)).status).toBe(400)
  expectError(await api.call('GET', '/public/preferences?token=x'), 400, 'Invalid or expired token')
  expect(await readAll()).toEqual(before)
})

test('people can leave a suspended workspace, but not return', async () => {
  await post({ leave: list.id })
  await api.query(`update workspaces set suspended_at = now() where name <> ''`)
  expect((await post({ return: list.id })).status).toBe(403)
  expect((await post({ stop: 'all' })).status).toBe(200)
  await api.query(`update workspaces set suspended_at = null`)
})

test('the link of a test email shows a page that says so', async () => {
  const testPath = withoutOrigin(testPreferencesUrl(api.ctx(workspace.id)))
  for (const { status, text } of [await get(testPath), await post({ token: tokenIn(testPath), stop: 'all' })])
    expect([status, text]).toEqual([200, expect.stringContaining('This is a test email')])
})

test('the page is in the language of the contact, and proofs have its texts', async () => {
  await api.call('PATCH', `/contacts/${contact.id}`, { key: workspace.key, body: { locale: 'de-AT' } })
  const { text } = await get()
  expect(text).toContain('<html lang="de-AT"')
  const action = /action="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const raw = new URLSearchParams({ token: tokenIn(path), tracking: 'save' }).toString()
  const headers = { ...browser, 'content-type': 'application/x-www-form-urlencoded' }
  expect((await api.call('POST', `/public/${action}`, { raw, headers })).text).toContain('Gespeichert.')
  const exported = await api.call('GET', `/contacts/${contact.id}/export`, { key: workspace.key })
  expect(exported.text).toContain('"wording":["Wann ich die E\u2011Mails öffne","Wann ich auf Links klicke"]')
})

test('the unsubscribe pages lead to the preferences', async () => {
  const link = { listId: list.id, contactId: contact.id, email: contact.email }
  const leave = withoutOrigin(unsubscribeUrl(api.ctx(workspace.id), link))
  for (const page of [
    await get(`${leave}&lang=de`),
    await api.call('POST', `${leave}&lang=de`, { headers: browser }),
  ]) {
    const [, url = ''] = /<a href="(preferences[^"]*)">Alle E\u2011Mail-Einstellungen</.exec(page.text) ?? []
    const opened = await get(`/public/${url.replaceAll('&amp;', '&')}`)
    expect([opened.status, opened.text]).toEqual([200, expect.stringContaining('Ihre E\u2011Mail-Einstellungen')])
  }
})

test.each([
  ['leave', 'nope'],
  ['leave', '\u0000'],
  ['leave', 'x'.repeat(5_000)],
  ['return', '__proto__'],
  ['return', 'lst_../..'],
  ['stop', 'ALL'],
  ['data', 'eve@example.com'],
  ['tracking', '\ud800'],
  ['opens', 'allow'],
  ['email', 'eve@example.com'],
])('a button that no page has, %s with %j, changes nothing', async (name, value) => {
  const before = await readAll()
  const { status } = await post({ [name]: value })
  expect([200, 400]).toContain(status)
  expect(await readAll()).toEqual(before)
})

test('a body that is no posted form changes nothing', async () => {
  const before = await readAll()
  const token = tokenIn(path)
  for (const [type, raw] of [
    ['application/json', JSON.stringify({ token, stop: 'all' })],
    ['multipart/form-data; boundary=x', `--x\r\ncontent-disposition: form-data; name="stop"\r\n\r\nall\r\n--x--`],
    ['application/x-www-form-urlencoded', `token=${token}&stop=all&stop=all`],
    ['application/x-www-form-urlencoded', `token=${token}&stop=%ff`],
    ['application/x-www-form-urlencoded', ''],
  ] as const) {
    const { status } = await api.call('POST', '/public/preferences', { raw, headers: { 'content-type': type } })
    expect(`${type} ${raw.slice(0, 20)}: ${status}`).toMatch(/: 4(00|15)$/)
  }
  expect(await readAll()).toEqual(before)
})
