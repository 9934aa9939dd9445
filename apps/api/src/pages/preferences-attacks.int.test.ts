/** The preferences page as someone uses it who wants to learn or change the data of another person. */
import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { confirmationUrl, undoToken, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import { preferencesUrl } from '@rapport/core/consent/preferences-links.ts'
import { trackingConfirmationUrl } from '@rapport/core/consent/tracking/tracking-links.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { readEverything } from '../../test/isolation-workspace.ts'
import { countStatuses, freshEmail, startTestApi, type TestWorkspace } from '../../test/testing.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
const formType = 'application/x-www-form-urlencoded'

interface Person {
  contact: Contact
  list: List
  token: string
}

/** Creates a contact on a list, and the token of its preferences link. */
async function createPerson({ id, key }: TestWorkspace = workspace): Promise<Person> {
  const list = await api.create<List>('/lists', key, { name: 'Secret society', description: 'For the initiated' })
  const contact = await api.create<Contact>('/contacts', key, { email: freshEmail(), firstName: 'Hedy' })
  await api.create(`/lists/${list.id}/subscribers`, key, { contactId: contact.id, status: 'CONFIRMED' })
  return { contact, list, token: tokenIn(preferencesUrl(api.ctx(id), { contactId: contact.id, email: contact.email })) }
}

const tokenIn = (url: string) => /token=(.*)$/.exec(url)?.[1] ?? ''
const get = (query: string, headers: Record<string, string> = {}) =>
  api.call('GET', `/public/preferences?${query}`, { headers: { accept, ...headers } })
const post = (raw: string | Buffer, { query = '', type = formType }: { query?: string; type?: string } = {}) =>
  api.call('POST', `/public/preferences${query}`, { raw, headers: { accept, 'content-type': type } })
const press = (token: string, fields: Record<string, string>) =>
  post(new URLSearchParams({ token, ...fields }).toString())
const buttonsFor = ({ list }: Person): Record<string, string>[] => [
  { leave: list.id },
  { return: list.id },
  { stop: 'all' },
  { data: 'email' },
  { tracking: 'save' },
  { tracking: 'save', opens: 'allow', clicks: 'allow' },
]

let ada: Person
let eve: Person
beforeEach(async () => {
  ada = await createPerson()
  eve = await createPerson()
})
const readAll = () => readEverything(api, workspace.id)

/** A token that ends with the end of another one. */
const mixTokens = (one: string, other: string, position: number) => one.slice(0, position) + other.slice(position)

test('a token that is mixed, cut, or of another link opens no page and changes nothing', async () => {
  const foreign = await createPerson(await api.signUp())
  const ctx = api.ctx(workspace.id)
  const link = { listId: ada.list.id, contactId: ada.contact.id, email: ada.contact.email }
  const issuedAt = timestampNow()
  const tokens = [
    ...[16, 40, 100].map((position) => mixTokens(eve.token, ada.token, position)),
    mixTokens(foreign.token, ada.token, 60),
    ada.token.slice(0, 40),
    ada.token.slice(40),
    `${eve.token}.${ada.token}`,
    ada.token.toLowerCase(),
    'x'.repeat(10_000),
    tokenIn(unsubscribeUrl(ctx, link)),
    tokenIn(confirmationUrl(ctx, { ...link, issuedAt })),
    tokenIn(trackingConfirmationUrl(ctx, { ...link, issuedAt, scope: ['opens'] })),
    undoToken(ctx, { ...link, saidAt: issuedAt }),
  ]
  const before = await readAll()
  for (const token of tokens) {
    const opened = [await get(`token=${token}`)]
    for (const fields of buttonsFor(ada)) opened.push(await press(token, fields))
    for (const { status, text } of opened) {
      expect([token, status]).toEqual([token, 400])
      expect(text).not.toContain(ada.list.name)
    }
  }
  expect(await readAll()).toEqual(before)
})

test('the token of a preferences link opens no other link', async () => {
  const before = await readAll()
  for (const path of ['unsubscribe', 'subscriptions/confirm', 'subscriptions/undo-unsubscribe', 'tracking/confirm']) {
    const { status } = await api.call('POST', `/public/${path}?token=${ada.token}`, { headers: { accept } })
    expect([path, status]).toEqual([path, 400])
  }
  for (const path of ['open', 'click'])
    expect((await api.call('GET', `/public/${path}?token=${ada.token}`, { headers: { accept } })).status).toBe(400)
  expect(await readAll()).toEqual(before)
})

test('a token of another workspace leaves no list and stops no mail of this one', async () => {
  const foreign = await createPerson(await api.signUp())
  const before = await readAll()
  for (const fields of buttonsFor(ada)) expect((await press(foreign.token, fields)).status).toBe(200)
  expect((await get(`token=${foreign.token}`)).text).not.toContain(ada.contact.email)
  expect(await readAll()).toEqual(before)
})

test.each(['changed its address', 'was deleted', 'was merged'])(
  'the link of a contact that %s shows nothing of it, and can only opt out',
  async (what) => {
    const path = `/contacts/${ada.contact.id}`
    if (what === 'changed its address')
      await api.call('PATCH', path, { key: workspace.key, body: { email: freshEmail() } })
    if (what === 'was deleted') await api.call('DELETE', path, { key: workspace.key })
    if (what === 'was merged')
      await api.call('POST', `/contacts/${eve.contact.id}/merge`, {
        key: workspace.key,
        body: { contactId: ada.contact.id },
      })
    const before = await readAll()
    const { text, status } = await get(`token=${ada.token}`)
    expect([status, text]).toEqual([200, expect.not.stringMatching(/Secret society|initiated|•|Hedy|name="tracking"/)])
    const forbidden = [
      { return: ada.list.id },
      { data: 'email' },
      { tracking: 'save' },
      { tracking: 'save', opens: 'x' },
    ]
    for (const fields of forbidden) expect([fields, (await press(ada.token, fields)).status]).toEqual([fields, 400])
    expect(await readAll()).toEqual(before)
    expect((await press(ada.token, { stop: 'all' })).status).toBe(200)
    expect(await readAll()).not.toEqual(before)
  },
)

test('a form with anything else changes nothing, and is no server error', async () => {
  const token = `token=${ada.token}`
  const forms = {
    'a doubled token': `${token}&token=${eve.token}`,
    'the token as an array': `token[]=${ada.token}`,
    'the token in the query alone': 'stop=all',
    'a doubled button': `${token}&stop=all&stop=all`,
    'U+0000': `${token}&leave=%00`,
    'U+0000 in a name': `${token}&leave%00=${ada.list.id}`,
    'half of a surrogate pair': `${token}&leave=%ED%A0%80`,
    'a list of 10 kB': `${token}&leave=${'x'.repeat(10_000)}`,
    'an unknown list': `${token}&return=lst_01kag7m3v9e8fs2t4w6x8y0z1b`,
    'a list that the person is not on': `${token}&return=${eve.list.id}`,
    'names of prototypes': `${token}&leave=__proto__&__proto__=stop&constructor=all`,
    'an address': `${token}&data=eve@example.com&email=eve@example.com`,
    '1,001 fields': `${token}&stop=all${'&a=b'.repeat(1_001)}`,
    'a body of 2 MB': `${token}&stop=${'x'.repeat(2_000_000)}`,
    'a raw byte': Buffer.from(`${token}&stop=all\u00ff`, 'latin1'),
  }
  const before = await readAll()
  for (const [name, form] of Object.entries(forms)) {
    const { status } = await post(form, { query: `?token=${ada.token}` })
    expect(`${name}: ${status}`).toMatch(/: (200|400|413)$/)
  }
  expect(await readAll()).toEqual(before)
})

test('a body with another content type changes nothing', async () => {
  const types = [
    'text/plain',
    'application/json',
    'application/json; charset=utf-8',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencodedx',
    'application/x-www-form-urlencoded/x',
    'application/xml',
    'x',
    '/',
  ]
  const before = await readAll()
  for (const type of types) {
    const { status } = await post(`token=${ada.token}&stop=all`, { type })
    expect(`${type}: ${status}`).toMatch(/: (400|415)$/)
  }
  expect(await readAll()).toEqual(before)
})

test('a hostile language shows a page in another one, and is not in it', async () => {
  const hostile = [
    '',
    '%00',
    '%ED%A0%80',
    'de%0d%0aset-cookie:a=b',
    '"><script>alert(1)</script>',
    '../../etc/passwd',
    '__proto__',
    'x-',
    'de-'.repeat(5_000),
    '%F0%9F%A6%89',
    'de&lang=fr',
  ]
  for (const lang of hostile)
    for (const { status, text, headers } of [
      await get(`token=${ada.token}&lang=${lang}`),
      await get(`token=${ada.token}`, { 'accept-language': `${lang};q=9,*;q=x,,;` }),
      await post(`token=${ada.token}&tracking=`, { query: `?lang=${lang}` }),
    ]) {
      expect(`${status} ${lang.slice(0, 30)}`).toMatch(/^(200|400) /)
      expect(text).toMatch(/<html lang="(en|de|fr)"/)
      expect(text).not.toMatch(/<script>alert|passwd|__proto__|set-cookie/)
      expect(headers['set-cookie']).toBeUndefined()
    }
})

test('a hundred buttons pressed at once have their effect once', async () => {
  const fields = [{ stop: 'all' }, { leave: ada.list.id }, { tracking: 'save' }, { data: 'email' }, {}]
  const presses = Array.from({ length: 100 }, (_, index) => press(ada.token, fields[index % fields.length] ?? {}))
  expect(countStatuses(await Promise.all(presses))).toEqual({ 200: 100 })
  const countOf = async (table: string, where: string, value: string) =>
    (await api.query(`select from ${table} where ${where} = $1`, [value])).length
  const ended = await api.query(
    `select type from events where data ->> 'contactId' = $1 and type ~ 'unsubscribed|tracking' order by type`,
    [ada.contact.id],
  )
  expect(ended.map(({ type }) => type)).toEqual(['subscription.unsubscribed', 'tracking_consent.changed'])
  expect(await countOf('mails', 'to_address', ada.contact.email)).toBe(1)
  expect(await countOf('audit_entries', 'subject_id', ada.contact.id)).toBe(1)
})
