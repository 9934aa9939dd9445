/** Lists and subscribers: routes of the contract without a test elsewhere. */
import { Id, newId } from '@rapport/core/kernel/ids.ts'
import { unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { aTimestamp, expectError, freshEmail, type Json, startTestApi } from '../testing.ts'

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
const unsubscribePath = () => {
  const link = { listId: Id('lst').parse(list.id), contactId: Id('con').parse(contact.id), email: contact.email }
  return unsubscribeUrl(api.ctx(workspace.id), link).replace('https://crm.example.com', '')
}

test('GET /lists, GET, PATCH and DELETE /lists/{id}: found, changed, deleted', async () => {
  expect((await call('PATCH', `/lists/${list.id}`, { name: 'Zebra news' })).status).toBe(200)
  expect(await listOf('/lists?search=zebra')).toMatchObject([{ id: list.id }])
  await add({ contactId: contact.id, status: 'CONFIRMED' })
  expect((await call('DELETE', `/lists/${list.id}`)).status).toBe(204)
  expectError(await call('GET', `/lists/${list.id}`), 404)
  await expect.poll(() => listOf('/events?type=list.deleted')).toMatchObject([{ data: { id: list.id } }])
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

test('GET /lists/{id}/counts: how many subscriptions have each status', async () => {
  await add({ contactId: contact.id, status: 'CONFIRMED' })
  const none = { PENDING: 0, UNSUBSCRIBED: 0, BOUNCED: 0, COMPLAINED: 0 }
  expect(await call('GET', `/lists/${list.id}/counts`)).toMatchObject({ status: 200, body: { ...none, CONFIRMED: 1 } })
  expectError(await call('GET', `/lists/${newId('lst')}/counts`), 404)
})

test('DELETE /lists/{id}/subscribers/{contactId}: may be added again', async () => {
  await add({ contactId: contact.id, status: 'CONFIRMED' })
  expect((await call('DELETE', `${subscribers()}/${contact.id}`)).status).toBe(204)
  expect(await readStatus()).toBe('UNSUBSCRIBED')
  expect(await add({ contactId: contact.id, status: 'CONFIRMED' })).toMatchObject({ body: { status: 'CONFIRMED' } })
  expect((await api.call('POST', unsubscribePath())).status).toBe(200)
  expect(expectError(await add({ contactId: contact.id, status: 'CONFIRMED' }), 409).code).toBe('opted_out')
})
