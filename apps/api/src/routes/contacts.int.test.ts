import type { Contact, ContactInput } from '@rapport/core/contacts/contacts.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, anId, countStatuses, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

const create = (body: Record<string, unknown>, key = workspace.key) =>
  api.call<Contact>('POST', '/contacts', { key, body })
const list = async (query: string, key = workspace.key) =>
  (await api.call<{ data: Contact[] }>('GET', `/contacts?${query}`, { key })).body.data

test('POST /contacts: only the email is required; every field is shown, in order', async () => {
  const email = freshEmail()
  const response = await create({ email })
  expect(response.status).toBe(201)
  expect(response.headers['location']).toBe(`/contacts/${response.body.id}`)
  expect(response.body).toEqual({
    id: anId('con'),
    email,
    firstName: '',
    lastName: '',
    phone: null,
    company: null,
    customFieldValues: {},
    tags: [],
    emailSubscribedStatus: 'NONE',
    lastActivityAt: null,
    source: null,
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
    externalId: null,
    locale: null,
    companyId: null,
  })
  expect(Object.keys(response.body).join(' ')).toBe(
    'id email firstName lastName phone company customFieldValues tags emailSubscribedStatus lastActivityAt source createdAt updatedAt externalId locale companyId',
  )
  const read = await api.call('GET', `/contacts/${response.body.id}`, { key: workspace.key })
  expect(read).toMatchObject({ status: 200, text: response.text })
})

test('stores all values unchanged, but trimmed', async () => {
  const given = {
    email: freshEmail(),
    firstName: '<script>alert(1)</script>',
    lastName: '=HYPERLINK("http://x") ${x} {{7*7}} O\'Neil \u202e👩‍🚀',
    phone: '+49 (0)30 1234-567 x89',
    company: "Robert'); DROP TABLE contacts;--",
    tags: ['vip', 'ünïcödé'],
    source: 'fair 2026',
  }
  const response = await create({
    ...given,
    firstName: `  ${given.firstName}\t`,
    tags: ['vip', ' vip ', 'ünïcödé', 'vip'],
  })
  expect(response.body).toMatchObject(given)
  expect(response.body.tags).toEqual(given.tags)
})

test('text is normalized to NFC', async () => {
  const { body } = await create({ email: freshEmail(), firstName: 'Zoe\u0308', tags: ['caf\u00e9', 'cafe\u0301'] })
  expect(body).toMatchObject({ firstName: 'Zo\u00eb', tags: ['caf\u00e9'] })
})

test('an empty optional text becomes null', async () => {
  const { body } = await create({ email: freshEmail(), phone: '', company: '  ', source: null })
  expect(body).toMatchObject({ phone: null, company: null, source: null })
})

test('an existing address in any case returns 409 with its contactId', async () => {
  const email = freshEmail()
  const { body: first } = await create({ email, firstName: 'First' })
  for (const again of [email, email.toUpperCase(), `  ${email} `]) {
    const response = await create({ email: again, firstName: 'Second' })
    expectError(response, 409, 'Contact already exists')
    expect(response.body).toEqual({
      statusCode: 409,
      message: 'Contact already exists',
      error: 'Conflict',
      code: 'already_exists',
      contactId: first.id,
      docUrl: 'https://crm.example.com/docs/errors#already_exists',
    })
  }
  expect(await list(`email=${email}`)).toEqual([first])
  expect(await create({ email: email.replace('@', '+tag@') })).toMatchObject({ status: 201 })
  const elsewhere = await api.signUp()
  expect(await create({ email }, elsewhere.key)).toMatchObject({ status: 201 })
})

test('of 50 concurrent creates with one address one succeeds, with one event', async () => {
  const email = freshEmail()
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, index) => create({ email: index % 2 ? email : email.toUpperCase() })),
  )
  expect(countStatuses(responses)).toEqual({ 201: 1, 409: 49 })
  const events = await api.query(`select type from events where lower(data ->> 'email') = $1`, [email])
  expect(events).toEqual([{ type: 'contact.created' }])
})

const invalidAddresses = [
  '',
  ' ',
  'ada',
  'ada@',
  '@example.com',
  'ada@example',
  'ada@example.com.',
  'ada@.example.com',
  'ada@exa mple.com',
  'ada lovelace@example.com',
  'ada@@example.com',
  'ada@b@example.com',
  '.ada@example.com',
  'ada.@example.com',
  'a..da@example.com',
  'ada@[127.0.0.1]',
  'ada@127.0.0.1',
  'ada@-example.com',
  `${'a'.repeat(65)}@example.com`,
  `a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(63)}.com`,
  'ünï@example.com',
  'ada@example.com\r\nBcc: eve@example.com',
  'ada@example.com%0d%0aBcc: eve@example.com',
  'ada\t@example.com',
  'ada@example.com,eve@example.com',
  'ada@example.com;eve@example.com',
  '<ada@example.com>',
  'Ada <ada@example.com>',
  '"eve@example.com x"@example.com',
  'ada(comment)@example.com',
  'friends: ada@example.com;',
  'x'.repeat(500_000),
  5,
  null,
  undefined,
  ['ada@example.com'],
  { $ne: 1 },
]
test('rejects an invalid address and does not repeat it', async () => {
  for (const email of invalidAddresses) {
    const response = await create({ email })
    const { issues } = expectError(response, 400)
    expect(issues?.map(({ path }) => path)).toContain('email')
    expect(response.text.length).toBeLessThan(400)
  }
})

const tooDeep = { a: { b: { c: { d: { e: 1 } } } } }
const badValues: [string, unknown, path?: string][] = [
  ['firstName', 'x'.repeat(201)],
  ['firstName', 'a\nb'],
  ['firstName', 'a\u0007b'],
  ['firstName', 'a\u007fb'],
  ['firstName', 5],
  ['lastName', ['a']],
  ['lastName', 'x'.repeat(1_000_000)],
  ['company', 'x'.repeat(201)],
  ['company', 'a\r\nb'],
  ['company', {}],
  ['source', 'x'.repeat(206)],
  ['phone', 'x'.repeat(33)],
  ['phone', '1'.repeat(5_000)],
  ['phone', 'call me'],
  ['phone', '+1;drop'],
  ['phone', '=1+1'],
  ['phone', 5],
  ['locale', 'german'],
  ['locale', `de-DE-x-${'a'.repeat(300)}`],
  ['locale', '__proto__'],
  ['locale', '../..'],
  ['locale', 'de\u0000'],
  ['locale', 5],
  ['tags', 'vip'],
  ['tags', Array.from({ length: 101 }, (_, index) => `tag${index}`)],
  ['tags', Array.from({ length: 9_000 }, (_, index) => `tag${index}`)],
  ['tags', ['x'.repeat(101)], 'tags.0'],
  ['tags', ['ok', 5], 'tags.1'],
  ['tags', [null], 'tags.0'],
  ['tags', { vip: true }],
  ['customFieldValues', { size: 42 }, 'customFieldValues.size'],
  ['customFieldValues', tooDeep, 'customFieldValues.a'],
  ['customFieldValues', { ['k'.repeat(101)]: 1 }, expect.stringMatching(/^customFieldValues/)],
  ['customFieldValues', Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`k${index}`, 1]))],
  ['customFieldValues', []],
  ['email', null],
  ['id', 'con_01kag7m3v9e8fs2t4w6x8y0z1b'],
  ['workspaceId', 'wsp_01kag7m3v9e8fs2t4w6x8y0z1b'],
  ['createdAt', '2020-01-01T00:00:00.000Z'],
  ['emailSubscribedStatus', 'SUBSCRIBED'],
  ['lastActivityAt', null],
  ['role', 'OWNER'],
]
test('rejects an invalid value, names the field and stores nothing', async () => {
  const email = freshEmail()
  for (const [field, value, path = field] of badValues) {
    const response = await create({ email, [field]: value })
    const { issues } = expectError(response, 400)
    expect({ field, path: issues?.[0]?.path }).toEqual({ field, path })
  }
  expect(await list(`email=${email}`)).toEqual([])
})

test('rejects a number that overflows', async () => {
  const raw = '{"email":"big@example.com","customFieldValues":{"size":1e400}}'
  expectError(await api.call('POST', '/contacts', { key: workspace.key, raw }), 400)
})

test('a contact must match all filters', async () => {
  const { key } = await api.signUp()
  const tags = [['a'], ['a', 'b'], ['a', 'b', "c'd\\%_"], []]
  const made: Contact[] = []
  for (const [index, tag] of tags.entries()) {
    const input: Partial<ContactInput> = {
      email: `p${index}@example.com`,
      tags: tag,
      source: index < 2 ? 'fair' : 'web',
    }
    made.push((await create(input, key)).body)
  }
  const emails = async (query: string) => (await list(query, key)).map(({ email }) => email[1]).join('')
  expect(await emails('')).toBe('3210')
  expect(await emails('email=P1@EXAMPLE.com')).toBe('1')
  expect(await emails('email=%25@example.com')).toBe('')
  expect(await emails('tag=a')).toBe('210')
  expect(await emails('tag=a&tag=b')).toBe('21')
  expect(await emails(`tag=${encodeURIComponent("c'd\\%_")}`)).toBe('2')
  expect(await emails('tag=A')).toBe('')
  expect(await emails('source=fair')).toBe('10')
  expect(await emails('source=fair&tag=b')).toBe('1')
  expect(await emails('emailSubscribedStatus=NONE')).toBe('3210')
  expect(await emails('emailSubscribedStatus=BOUNCED')).toBe('')
  expect(await emails('listId=lst_01kag7m3v9e8fs2t4w6x8y0z1b')).toBe('')
  const middle = made[2]?.createdAt ?? ''
  expect(await emails(`createdAfter=${middle}`)).toBe('32')
  expect(await emails(`createdBefore=${middle}`)).toBe('10')
  expect(await emails(`updatedAfter=${encodeURIComponent(middle.replace('Z', '+00:00'))}`)).toBe('32')
  expect(await emails(`updatedBefore=${middle}`)).toBe('10')
})

test.each([
  'emailSubscribedStatus=none',
  'listId=nope',
  'listId=con_01kag7m3v9e8fs2t4w6x8y0z1b',
  'updatedAfter=294277-01-01T00:00:00Z',
  'updatedBefore=2026-01-01T00:00:00%2B99:99',
  'tag=%00',
  `tag=${'x'.repeat(101)}`,
  'tag=x&'.repeat(21),
  'email=%00',
  'email=a&email=b',
  'externalId=',
  'externalId=%00',
  `externalId=${'x'.repeat(256)}`,
  'externalId=%20x',
  'source=a%0ab',
  'sort=name',
  'sort=createdAt;drop',
  'sort=',
  'sort=createdAt&sort=email',
  'count=',
  'count=1',
  'count=TRUE',
  'count=yes',
  'count=true&count=true',
])('a listing rejects ?%s', async (query) => {
  expectError(await api.call('GET', `/contacts?${query}`, { key: workspace.key }), 400)
})
