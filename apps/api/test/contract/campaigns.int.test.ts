/** Campaigns: routes of the contract without a test elsewhere. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { expectError, freshEmail, type Json, startTestApi } from '../testing.ts'

type Campaign = Json & { id: string }

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { key: workspace.key, ...(body !== undefined && { body }) })
const listOf = async (path: string) => (await call('GET', path)).body['data']

let listId: string
let campaign: Campaign
let path: string
beforeEach(async () => {
  listId = (await api.create<{ id: string }>('/lists', workspace.key, { name: 'Newsletter' })).id
  const input = { name: 'Spring news', subject: 'Hello {{ contact.firstName }}', listId }
  campaign = await api.create<Campaign>('/campaigns', workspace.key, input)
  path = `/campaigns/${campaign.id}`
})
const subscribe = async () => {
  const contact = { email: freshEmail(), firstName: 'Ada' }
  const { id } = await api.create<{ id: string }>('/contacts', workspace.key, contact)
  await api.create(`/lists/${listId}/subscribers`, workspace.key, { contactId: id, status: 'CONFIRMED' })
  return id
}

test('DELETE /campaigns/{id}: only a DRAFT', async () => {
  const draft = await api.create<Campaign>('/campaigns', workspace.key, { name: 'Draft', subject: 'Hello', listId })
  expect(await call('DELETE', `/campaigns/${draft.id}`)).toMatchObject({ status: 204, text: '' })
  expectError(await call('GET', `/campaigns/${draft.id}`), 404)
  await subscribe()
  await call('POST', `${path}/send`)
  expect(expectError(await call('DELETE', path), 409).code).toBe('wrong_state')
})

test('GET /campaigns/{id}/audience: who will receive it, and who is excluded', async () => {
  await subscribe()
  await api.create(`/lists/${listId}/subscribers`, workspace.key, { email: freshEmail() })
  const excluded = { pending: 1, unsubscribed: 0, bounced: 0, complained: 0 }
  expect((await call('GET', `${path}/audience`)).body).toMatchObject({ willReceive: 1, excluded })
})

test('POST /campaigns/{id}/pause, POST /campaigns/{id}/resume', async () => {
  await subscribe()
  await call('POST', `${path}/send`)
  for (const [step, status] of Object.entries({ pause: 'PAUSED', resume: 'SENDING' })) {
    expect(await call('POST', `${path}/${step}`)).toMatchObject({ status: 200, body: { status } })
  }
})

test('POST /campaigns/{id}/cancel: for good', async () => {
  await subscribe()
  await call('POST', `${path}/send`)
  expect(await call('POST', `${path}/cancel`)).toMatchObject({ status: 200, body: { status: 'CANCELED' } })
  expect(expectError(await call('POST', `${path}/resume`), 409).code).toBe('wrong_state')
})

test('GET /campaigns/{id}/stats: queued is the sum of all outcomes', async () => {
  await subscribe()
  await call('POST', `${path}/send`)
  const zeros = { sent: 0, failed: 0, skipped: 0, interrupted: 0, opened: 0, clicked: 0, unsubscribed: 0, bounced: 0 }
  const bouncesByClass = { HARD: 0, SOFT: 0, MESSAGE: 0, POLICY: 0 }
  const expected = {
    queued: 1,
    pending: 1,
    complained: 0,
    anonymousOpens: 0,
    anonymousClicks: 0,
    bouncesByClass,
    links: [],
    ...zeros,
  }
  expect((await call('GET', `${path}/stats`)).body).toEqual(expected)
})

test('GET /campaigns/{id}/recipients: by status or contactId', async () => {
  const contactId = await subscribe()
  await call('POST', `${path}/send`)
  const [recipient] = (await listOf(`${path}/recipients?contactId=${contactId}`)) as Json[]
  expect(recipient).toMatchObject({ contactId, status: 'PENDING', error: null })
  expect(await listOf(`${path}/recipients?status=SENT`)).toEqual([])
  // A status of the database, which a recipient never shows.
  expectError(await call('GET', `${path}/recipients?status=WAITING`), 400)
})

test('POST /campaigns/{id}/retry: INTERRUPTED only with includeInterrupted', async () => {
  await subscribe()
  await call('POST', `${path}/send`)
  await call('POST', `${path}/cancel`)
  expect((await call('POST', `${path}/retry`, { includeInterrupted: 'yes' })).status).toBe(400)
  expect((await call('POST', `${path}/retry`)).status).toBe(409)
})

test('POST /campaigns/{id}/preview: for a contact, with the footer in every part', async () => {
  const contactId = await subscribe()
  await call('PATCH', path, { html: null, text: null })
  const { body } = await call('POST', `${path}/preview`, { contactId })
  const unsubscribe = expect.stringContaining('/public/unsubscribe') as unknown
  expect(body).toMatchObject({ subject: 'Hello Ada', html: unsubscribe, text: unsubscribe })
  expect((await call('POST', `${path}/preview`)).status).toBe(200)
})
