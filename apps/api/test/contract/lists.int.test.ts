/** Lists and subscriptions: one test for each route of the contract. */
import { Id } from '@rapport/core/kernel/ids.ts'
import { confirmationUrl, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, type Json, startTestApi } from '../testing.ts'

type List = Json & { id: string }
type Contact = Json & { id: string; email: string }

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { key: workspace.key, ...(body !== undefined && { body }) })
const listOf = async (path: string) => (await call('GET', path)).body['data']

let list: List
let contact: Contact
beforeEach(async () => {
  list = await api.create<List>('/lists', workspace.key, { name: 'Newsletter' })
  contact = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
})
const subscribers = () => `/lists/${list.id}/subscribers`
const add = (body: object) => call('POST', subscribers(), body)
const readStatus = async () => (await call('GET', `${subscribers()}/${contact.id}`)).body['status']
const withoutOrigin = (url: string) => url.replace('https://crm.example.com', '')
const html = { accept: 'text/html' }
/** The link of an email, with a parameter that mail programs add. */
const linkOf = (kind: 'confirm' | 'unsubscribe') => {
  const link = { listId: Id('lst').parse(list.id), contactId: Id('con').parse(contact.id), email: contact.email }
  const ctx = api.ctx(workspace.id)
  const url = kind === 'confirm' ? confirmationUrl(ctx, { ...link, issuedAt: new Date() }) : unsubscribeUrl(ctx, link)
  return `${withoutOrigin(url)}&utm_campaign=x`
}

test('POST and GET /lists, GET, PATCH and DELETE /lists/{id}: list.deleted is emitted', async () => {
  expect(list).toEqual({
    id: anId('lst'),
    name: 'Newsletter',
    description: '',
    doubleOptIn: true,
    confirmedCount: 0,
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  })
  expect((await call('PATCH', `/lists/${list.id}`, { name: 'Zebra news' })).status).toBe(200)
  expect(await listOf('/lists?search=zebra')).toMatchObject([{ id: list.id }])
  await add({ contactId: contact.id, status: 'CONFIRMED' })
  expect((await call('DELETE', `/lists/${list.id}`)).status).toBe(204)
  expectError(await call('GET', `/lists/${list.id}`), 404)
  expect(await listOf('/events?type=list.deleted')).toMatchObject([{ data: { id: list.id } }])
  expect((await call('GET', `/contacts/${contact.id}`)).body).toMatchObject({ emailSubscribedStatus: 'NONE' })
})

test('DELETE /lists/{id}: a list with a campaign in SENDING is a 409', async () => {
  await add({ contactId: contact.id, status: 'CONFIRMED' })
  const campaign = { name: 'News', subject: 'Hello', listId: list.id }
  const { id } = await api.create<{ id: string }>('/campaigns', workspace.key, campaign)
  expect((await call('POST', `/campaigns/${id}/send`)).status).toBe(202)
  expect(expectError(await call('DELETE', `/lists/${list.id}`), 409).code).toBe('in_use')
})

test('POST /lists/{id}/subscribers: PENDING by default; 200 for a subscriber', async () => {
  const added = await add({ contactId: contact.id })
  expect(added).toMatchObject({ status: 201, body: { contactId: contact.id, listId: list.id, status: 'PENDING' } })
  expect(await api.query(`select kind from mails where to_address = $1`, [contact.email])).toEqual([
    { kind: 'CONFIRMATION' },
  ])
  expect(await add({ contactId: contact.id, status: 'CONFIRMED' })).toMatchObject({
    status: 200,
    body: { status: 'CONFIRMED', confirmedAt: aTimestamp },
  })
})

test('GET /lists/{id}/subscribers and GET /lists/{id}/subscribers/{contactId}', async () => {
  await add({ email: contact.email, status: 'CONFIRMED' })
  const { body } = await call('GET', `${subscribers()}/${contact.id}`)
  expect(body).toMatchObject({ status: 'CONFIRMED', source: 'api', unsubscribedAt: null, createdAt: aTimestamp })
  expect(await listOf(`${subscribers()}?status=CONFIRMED`)).toEqual([body])
  expect(await listOf(`${subscribers()}?status=PENDING`)).toEqual([])
  const other = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  expectError(await call('GET', `${subscribers()}/${other.id}`), 404)
})

test('DELETE /lists/{id}/subscribers/{contactId}: may be added again', async () => {
  await add({ contactId: contact.id, status: 'CONFIRMED' })
  expect((await call('DELETE', `${subscribers()}/${contact.id}`)).status).toBe(204)
  expect(await readStatus()).toBe('UNSUBSCRIBED')
  expect(await add({ contactId: contact.id, status: 'CONFIRMED' })).toMatchObject({ body: { status: 'CONFIRMED' } })
  expect((await api.call('POST', linkOf('unsubscribe'))).status).toBe(200)
  expect(expectError(await add({ contactId: contact.id, status: 'CONFIRMED' }), 409).code).toBe('opted_out')
})

test('POST /public/lists/{id}/subscribe: the same 202 for every address', async () => {
  const subscribe = (email: string) =>
    api.call('POST', `/public/lists/${list.id}/subscribe?fbclid=x`, { body: { email, firstName: 'Ada' } })
  await add({ contactId: contact.id, status: 'CONFIRMED' })
  for (const email of [freshEmail(), contact.email]) {
    expect(await subscribe(email)).toMatchObject({ status: 202, body: { success: true } })
  }
  const email = freshEmail()
  for (let count = 0; count < 3; count++) await subscribe(email)
  expect(await api.query(`select kind from mails where to_address = $1`, [email])).toHaveLength(1)
})

test('GET and POST /public/subscriptions/confirm: GET changes nothing, POST confirms', async () => {
  await add({ contactId: contact.id })
  expect((await api.call('GET', linkOf('confirm'), { headers: html })).status).toBe(200)
  expect(await readStatus()).toBe('PENDING')
  expect((await api.call('POST', linkOf('confirm'), { headers: html })).status).toBe(200)
  expect(await readStatus()).toBe('CONFIRMED')
  expect((await api.call('GET', '/public/subscriptions/confirm?token=forged')).status).toBe(400)
})

test('GET and POST /public/unsubscribe, POST /public/subscriptions/undo-unsubscribe', async () => {
  await add({ contactId: contact.id, status: 'CONFIRMED' })
  expect((await api.call('GET', linkOf('unsubscribe'), { headers: html })).status).toBe(200)
  expect(await readStatus()).toBe('CONFIRMED')
  const left = await api.call('POST', linkOf('unsubscribe'), { headers: html })
  expect([left.status, await readStatus()]).toEqual([200, 'UNSUBSCRIBED'])
  const [, undo = ''] = /action="([^"]*undo-unsubscribe\?token=[^"]+)"/.exec(left.text) ?? []
  expect((await api.call('POST', `/public/${undo}`, { headers: html })).status).toBe(200)
  expect(await readStatus()).toBe('CONFIRMED')
  expect((await api.call('POST', '/public/subscriptions/undo-unsubscribe?token=forged')).status).toBe(400)
})
