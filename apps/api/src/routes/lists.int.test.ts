import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let list: List
beforeEach(async () => {
  list = await api.create<List>('/lists', workspace.key, { name: 'Newsletter' })
})

const subscribe = (body: unknown, id: string = list.id) => api.call('POST', `/public/lists/${id}/subscribe`, { body })
const readList = async (id = list.id) => (await api.call<List>('GET', `/lists/${id}`, { key: workspace.key })).body
const mailsTo = (email: string) => api.query('select kind, to_address from mails where to_address = $1', [email])
const contactOf = async (email: string) => {
  const response = await api.call<{ data: object[] }>('GET', `/contacts?email=${email}`, { key: workspace.key })
  return response.body.data[0]
}

test('POST /lists: every field, and double opt-in by default', async () => {
  const response = await api.call<List>('POST', '/lists', { key: workspace.key, body: { name: ' Newsletter ' } })
  expect(response).toMatchObject({ status: 201, headers: { location: `/lists/${response.body.id}` } })
  expect(response.body).toEqual({
    id: anId('lst'),
    name: 'Newsletter',
    description: '',
    doubleOptIn: true,
    publicSignup: 'OPEN',
    confirmedCount: 0,
    withheldConfirmations: 0,
    locale: null,
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  })
  expect(await readList(response.body.id)).toEqual(response.body)
  const given = { name: 'Second', description: 'first line\n\tsecond line', doubleOptIn: false, publicSignup: 'CLOSED' }
  expect(await api.create('/lists', workspace.key, given)).toMatchObject(given)
})

const badValues: [string, unknown][] = [
  ['name', ''],
  ['name', '  '],
  ['name', 'x'.repeat(201)],
  ['name', 'a\nb'],
  ['name', undefined],
  ['name', null],
  ['description', 'x'.repeat(20_001)],
  ['description', 'a\u0001b'],
  ['description', 5],
  ['doubleOptIn', 'yes'],
  ['doubleOptIn', 1],
  ['publicSignup', 'closed'],
  ['confirmedCount', 5],
  ['id', 'lst_01kag7m3v9e8fs2t4w6x8y0z1b'],
]
test.each(badValues)('rejects a list with the %s %j', async (field, value) => {
  const { issues } = expectError(
    await api.call('POST', '/lists', { key: workspace.key, body: { name: 'Newsletter', [field]: value } }),
    400,
  )
  expect(issues?.[0]?.path).toBe(field)
})

test('POST /public/lists/{id}/subscribe: the same response for every state', async () => {
  const states = ['PENDING', 'CONFIRMED', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED']
  const responses = [await subscribe({ email: freshEmail() })]
  const known = freshEmail()
  await api.create('/contacts', workspace.key, { email: known, firstName: 'Ada' })
  responses.push(await subscribe({ email: known }))
  for (const state of states) {
    const email = freshEmail()
    await subscribe({ email })
    await api.query(
      `update subscriptions s set status = $1, own_status = case $1 when 'PENDING' then 'PENDING' else 'CONFIRMED' end
       from contacts c
       where c.workspace_id = s.workspace_id and c.id = contact_id and email = $2`,
      [state, email],
    )
    responses.push(await subscribe({ email, firstName: 'Eve' }))
  }
  for (const response of responses) {
    expect(response).toMatchObject({ status: 202, text: '{"success":true}' })
    const { date, 'x-request-id': _id, ...headers } = response.headers
    expect({ ...headers, date: typeof date }).toEqual({
      'content-type': 'application/json; charset=utf-8',
      'content-length': '16',
      'access-control-allow-origin': '*',
      'access-control-expose-headers':
        'x-request-id, etag, location, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, idempotent-replayed, matched-by',
      'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-ratelimit-limit': '20',
      'x-ratelimit-remaining': '19',
      'x-ratelimit-reset': '60',
      connection: 'keep-alive',
      date: 'string',
    })
  }
})

test('a new address becomes a pending contact', async () => {
  const email = freshEmail()
  await subscribe({ email, firstName: 'Ada' })
  expect(await contactOf(email)).toMatchObject({
    email,
    firstName: 'Ada',
    lastName: '',
    emailSubscribedStatus: 'PENDING',
    source: 'subscription',
    lastActivityAt: aTimestamp,
  })
})

test('a subscribe request fills empty fields of a contact and overwrites nothing', async () => {
  const email = freshEmail()
  await api.create('/contacts', workspace.key, { email, firstName: 'Ada', source: 'fair' })
  await subscribe({ email, firstName: 'Eve', lastName: 'Lovelace' })
  expect(await contactOf(email)).toMatchObject({ firstName: 'Ada', lastName: 'Lovelace', source: 'fair' })
})

test('POST /lists/{id}/subscribers: PENDING by default; added again after removal', async () => {
  const email = freshEmail()
  const add = (body: object) => api.call('POST', `/lists/${list.id}/subscribers`, { key: workspace.key, body })
  const added = await add({ email })
  const path = `/lists/${list.id}/subscribers/${String(added.body['contactId'])}`
  expect(added).toMatchObject({ status: 201, headers: { location: path }, body: { status: 'PENDING' } })
  expect(await mailsTo(email)).toHaveLength(1)
  expect(await add({ email })).toMatchObject({ status: 200, body: added.body })
  expect(await api.call('DELETE', path, { key: workspace.key })).toMatchObject({ status: 204 })
  const read = await api.call('GET', path, { key: workspace.key })
  expect(read).toMatchObject({ status: 200, body: { status: 'UNSUBSCRIBED', unsubscribedAt: aTimestamp } })
  expect(await add({ email, status: 'CONFIRMED' })).toMatchObject({ status: 201, headers: { location: path } })
})

test('every unknown or malformed list id gets the same 404', async () => {
  const unknown = await subscribe({ email: freshEmail() }, 'lst_01kag7m3v9e8fs2t4w6x8y0z1b')
  expectError(unknown, 404, 'List not found')
  for (const id of ['nope', workspace.id, '%00', 'a'.repeat(300)]) {
    expect((await subscribe({ email: freshEmail() }, id)).text).toBe(unknown.text)
  }
})

const invalidBodies: [string, unknown][] = [
  ['email', 'ada@example'],
  ['email', undefined],
  ['email', ['ada@example.com']],
  ['email', 'ada@example.com\r\nBcc: eve@example.com'],
  ['firstName', 'a\r\nb'],
  ['firstName', 'x'.repeat(201)],
  ['lastName', { $ne: 1 }],
  ['status', 'CONFIRMED'],
  ['listId', 'lst_01kag7m3v9e8fs2t4w6x8y0z1b'],
]
test('a subscribe request with an invalid value returns 400 and stores nothing', async () => {
  const email = freshEmail()
  for (const [field, value] of invalidBodies) {
    const { issues } = expectError(await subscribe({ email, [field]: value }), 400)
    expect(issues?.map(({ path }) => path)).toContain(field)
  }
  expect(await contactOf(email)).toBeUndefined()
})
