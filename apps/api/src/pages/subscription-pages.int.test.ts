import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { confirmationUrl, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi, type Call } from '../../test/testing.ts'
import { type Timestamp, timestampNow, timestampAt } from '@rapport/core/kernel/values/timestamps.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let list: List
let contact: Contact
let confirmPath: string
let leavePath: string
beforeEach(async () => {
  list = await api.create<List>('/lists', workspace.key, { name: 'Newsletter' })
  contact = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  await api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: contact.email } })
  confirmPath = confirmPathOf(timestampNow())
  const link = { listId: list.id, contactId: contact.id, email: contact.email }
  leavePath = withoutOrigin(unsubscribeUrl(api.ctx(workspace.id), link))
})

const withoutOrigin = (url: string) => url.replace('https://crm.example.com', '')
function confirmPathOf(issuedAt: Timestamp) {
  const link = { listId: list.id, contactId: contact.id, email: contact.email, issuedAt }
  return withoutOrigin(confirmationUrl(api.ctx(workspace.id), link))
}

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const get = (path: string) => api.call('GET', path, { headers: browser })
const post = (path: string, call: Call = {}) => api.call('POST', path, { headers: browser, ...call })
const readStatus = async () =>
  (await api.call<Contact>('GET', `/contacts/${contact.id}`, { key: workspace.key })).body.emailSubscribedStatus
/** All rows that a request could change. */
const readAll = async () => [
  await api.query('select * from contacts order by id'),
  await api.query('select * from subscriptions order by contact_id, list_id'),
  await api.query('select count(*) from events'),
  await api.query('select count(*) from mails'),
]

test('GET /public/unsubscribe, as confirm: requests of a mail scanner change nothing', async () => {
  const before = await readAll()
  for (const path of [confirmPath, leavePath]) {
    for (const method of ['GET', 'HEAD', 'GET']) {
      expect(await api.call(method, path, { headers: browser })).toMatchObject({ status: 200 })
    }
  }
  expect(await readAll()).toEqual(before)
})

test.each([
  ['with a slash', (path: string) => path.replace('?', '/?')],
  ['with two slashes', (path: string) => path.replace('/public/', '//public//').replace('?', '//?')],
  ['in upper case', (path: string) => path.replace('/public/unsubscribe?token', '/PUBLIC/UNSUBSCRIBE?TOKEN')],
  ['with =3D', (path: string) => path.replace('token=', 'token=3D')],
  ['with =3F and =3D', (path: string) => path.replace('?token=', '=3Ftoken=3D')],
  ['with %3F', (path: string) => path.replace('?', '%3F')],
  ['with %3F and %3D', (path: string) => path.replace('?token=', '%3Ftoken%3D')],
  ['with a soft line break', (path: string) => path.replace(/.{20}$/, (end) => `=%0D%0A${end}`)],
  ['in angle brackets', (path: string) => `${path}%3E`],
  ['with a parameter before it', (path: string) => path.replace('?', '?utm_source=x&amp;')],
])('the link of an opt-out works %s', async (_, damage) => {
  expect((await get(damage(leavePath))).status).toBe(200)
  expect(await readStatus()).not.toBe('UNSUBSCRIBED')
  expect((await post(damage(leavePath))).status).toBe(200)
  expect(await readStatus()).toBe('UNSUBSCRIBED')
})

test('a page has no scripts or external resources, and allows no frame or cache', async () => {
  for (const path of [confirmPath, leavePath, '/public/unsubscribe?token=forged']) {
    const { headers, text } = await get(path)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store, max-age=0, private',
      'x-content-type-options': 'nosniff',
    })
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    )
    expect(headers['set-cookie']).toBeUndefined()
    expect(text).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/)
    expect(text).not.toMatch(/<script|src=|href="(?!preferences\?)|https?:|\son\w+=/)
  }
})

describe('the name of the list and its sender', () => {
  const names = ['“A &amp; B &lt;i&gt;”', 'Engines &lt;b&gt;']
  const readPage = async (path: string) => {
    const { status, text } = await get(path)
    return { status, text, names: names.filter((name) => text.includes(name)) }
  }
  beforeEach(async () => {
    await api.call('PATCH', `/lists/${list.id}`, { key: workspace.key, body: { name: 'A & B <i>' } })
    await api.call('PATCH', '/workspace', { key: workspace.key, body: { fromName: 'Engines <b>' } })
  })

  test('is shown on every page of a link, before and after the click', async () => {
    for (const path of [confirmPath, leavePath]) {
      expect(await readPage(path)).toMatchObject({ status: 200, names })
      const { text } = await post(path)
      for (const name of names) expect(text).toContain(name)
    }
  })

  test('is the same for pending, confirmed, unsubscribed and deleted contacts', async () => {
    const pages = async () => [await readPage(confirmPath), await readPage(leavePath)]
    const pending = await pages()
    await post(confirmPath)
    expect(await pages()).toEqual(pending)
    await post(leavePath)
    expect(await pages()).toEqual(pending)
    await api.call('DELETE', `/contacts/${contact.id}`, { key: workspace.key })
    expect(await pages()).toEqual(pending)
  })

  test('is not shown for an invalid link', async () => {
    for (const path of [confirmPath, leavePath]) {
      expect(await readPage(path.slice(0, -1))).toMatchObject({ status: 400, names: [] })
    }
  })

  test('is not shown after the list is deleted, but the page still works', async () => {
    await api.call('DELETE', `/lists/${list.id}`, { key: workspace.key })
    for (const path of [confirmPath, leavePath]) expect(await readPage(path)).toMatchObject({ status: 200, names: [] })
    expect((await get(leavePath)).text).toContain('to stop receiving the newsletters of this sender')
    const left = await post(leavePath)
    expect([left.status, left.text]).toEqual([
      200,
      expect.stringContaining('no longer receive the newsletters of this'),
    ])
  })
})

test('GET and POST /public/subscriptions/confirm: by a button of the page', async () => {
  expect((await get(confirmPath)).text).toContain('<form method="post"><button>Confirm subscription</button></form>')
  expect(await readStatus()).toBe('PENDING')
  const confirmed = await post(confirmPath, {
    raw: '',
    headers: { ...browser, 'content-type': 'application/x-www-form-urlencoded' },
  })
  expect(confirmed).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  expect(confirmed.text).toContain('You are subscribed')
  expect(await readStatus()).toBe('SUBSCRIBED')
  const again = await post(confirmPath)
  expect([again.status, again.text]).toEqual([200, confirmed.text])
  const events = await api.query(
    `select type from events where type like 'subscription.%' and data ->> 'contactId' = $1
    order by id`,
    [contact.id],
  )
  expect(events).toEqual([{ type: 'subscription.created' }, { type: 'subscription.confirmed' }])
})

const oneClicks: Record<string, Call> = {
  urlencoded: {
    raw: 'List-Unsubscribe=One-Click',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  },
  multipart: {
    raw: '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  },
  'without a body': {},
  text: { raw: 'List-Unsubscribe=One-Click', headers: { 'content-type': 'text/plain; charset=latin1' } },
  JSON: { raw: '{"List-Unsubscribe":"One-Click"', headers: { 'content-type': 'application/json' } },
  'without a content type': { raw: 'List-Unsubscribe=One-Click', headers: { 'content-type': '' } },
  'an invalid content type': { raw: 'List-Unsubscribe=One-Click', headers: { 'content-type': 'form' } },
  gzip: { raw: 'x', headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip' } },
  'a large body': { raw: 'x'.repeat(2_000_000), headers: { 'content-type': 'multipart/form-data' } },
}
test.each(Object.entries(oneClicks))(
  'POST /public/unsubscribe: one click, without cookies or a redirect: %s',
  async (_name, call) => {
    await post(confirmPath)
    for (let click = 1; click <= 2; click++) {
      const response = await api.call('POST', leavePath, call)
      expect(response.status).toBe(200)
      expect(response.headers['location']).toBeUndefined()
      expect(await readStatus()).toBe('UNSUBSCRIBED')
    }
    const events = await api.query(
      `select type from events where type = 'subscription.unsubscribed' and data ->> 'contactId' = $1`,
      [contact.id],
    )
    expect(events).toHaveLength(1)
  },
)

test.each(['.', ')', '%3E', '%0D%0A', '%E2%80%9D'])('a link that a program ends with %s still works', async (added) => {
  expect((await post(leavePath + added)).status).toBe(200)
  expect(await readStatus()).toBe('UNSUBSCRIBED')
})

test('a pending subscription can be unsubscribed too', async () => {
  expect(await post(leavePath)).toMatchObject({ status: 200 })
  expect(await readStatus()).toBe('UNSUBSCRIBED')
})

test('only a confirmation link issued after an opt-out can undo it', async () => {
  await post(confirmPath)
  await post(leavePath)
  expect(await post(confirmPath)).toMatchObject({ status: 400 })
  expect(await readStatus()).toBe('UNSUBSCRIBED')
  expect(await post(confirmPathOf(timestampAt(Date.now() + 1_000)))).toMatchObject({ status: 200 })
  expect(await readStatus()).toBe('SUBSCRIBED')
})

test('a confirmation link expires after 7 days, an unsubscribe link never', async () => {
  const day = 86_400_000
  const [fresh, old] = [
    confirmPathOf(timestampAt(Date.now() - 7 * day + 60_000)),
    confirmPathOf(timestampAt(Date.now() - 7 * day - 1)),
  ]
  for (const method of ['GET', 'POST']) {
    expect(await api.call(method, old, { headers: browser })).toMatchObject({ status: 400 })
  }
  expect(await readStatus()).toBe('PENDING')
  await api.query(`update subscriptions set own_status_at = now() - interval '8 days'`)
  expect(await post(fresh)).toMatchObject({ status: 200 })
  await api.query(`update subscriptions set created_at = now() - interval '10 years'`)
  expect(await post(leavePath)).toMatchObject({ status: 200 })
})

test('a forged, truncated, changed or misused token gets a 400 and changes nothing', async () => {
  const tokenOf = (path: string) => new URL(path, 'http://x').searchParams.get('token') ?? ''
  const [confirm, leave] = [tokenOf(confirmPath), tokenOf(leavePath)]
  const before = await readAll()
  const forged = (good: string, other: string) => [
    '',
    'x',
    'x.y',
    '.',
    good.slice(0, -1),
    `${good}x`,
    `${good}.${good}`,
    `${good.startsWith('W') ? 'X' : 'W'}${good.slice(1)}`,
    `${good.slice(100)}${good.slice(0, 100)}`,
    `${good.slice(0, 100)}${other.slice(100)}`,
    other,
    `${btoa('["__proto__"]')}.x`,
    '%00',
    'é',
    'a'.repeat(800),
    'a'.repeat(801),
    'a'.repeat(5_000),
  ]
  const cases = [
    ...forged(confirm, leave).map((token) => `/public/subscriptions/confirm?token=${token}`),
    ...forged(leave, confirm).map((token) => `/public/unsubscribe?token=${token}`),
    '/public/subscriptions/confirm',
    '/public/unsubscribe',
    `/public/unsubscribe?token=${leave}&token=${leave}`,
    `/public/unsubscribe?token[]=${leave}`,
    `/public/unsubscribe?tokn=${leave}`,
  ]
  for (const path of cases) {
    for (const method of ['GET', 'POST']) {
      const [page, json] = [await api.call(method, path, { headers: browser }), await api.call(method, path)]
      expect([path, page.status, page.headers['content-type']]).toEqual([path, 400, 'text/html; charset=utf-8'])
      expect(page.text).toContain('This link does not work')
      expectError(json, 400)
    }
  }
  expect(await readAll()).toEqual(before)
})

test('unsubscribing a deleted contact succeeds', async () => {
  await api.query(
    'delete from contacts where id = (select contact_id from subscriptions order by created_at desc limit 1)',
  )
  expect(await post(leavePath)).toMatchObject({ status: 200 })
  expect(await post(confirmPath)).toMatchObject({ status: 400 })
})
