/** Campaigns: one test for each route of the contract. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { aTimestamp, anId, countStatuses, expectError, freshEmail, type Json, startTestApi } from '../testing.ts'

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

test('GET and POST /campaigns, GET, PATCH and DELETE /campaigns/{id}', async () => {
  expect(campaign).toMatchObject({
    id: anId('cmp'),
    name: 'Spring news',
    listId,
    status: 'DRAFT',
    html: expect.stringContaining('{{ campaign.subject }}'),
    text: null,
    fromName: null,
    fromEmail: null,
    replyTo: null,
    trackOpens: false,
    trackClicks: false,
    queued: 0,
    pauseReason: null,
    sentAt: null,
    completedAt: null,
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  })
  expect((await call('GET', path)).body).toEqual(campaign)
  const { html: _html, text: _text, ...listed } = campaign
  expect(await listOf(`/campaigns?status=DRAFT&listId=${listId}&search=spring`)).toEqual([listed])
  expect(await listOf(`/campaigns?listId=${listId}&search=autumn`)).toEqual([])
  expect(await call('PATCH', path, { name: 'Summer news' })).toMatchObject({ status: 204, text: '' })
  await subscribe()
  await call('POST', `${path}/send`)
  for (const method of ['PATCH', 'DELETE']) {
    expect(expectError(await call(method, path, method === 'PATCH' ? { name: 'x' } : undefined), 409).code).toBe(
      'wrong_state',
    )
  }
})

test('PATCH /campaigns/{id}: templates are strict, with line and suggestion', async () => {
  await api.create('/custom-fields', workspace.key, { key: 'plan', label: 'Plan', type: 'TEXT' })
  const faults = [
    ['Dear\n{{ contact.frstName }}', '"contact.firstName"'],
    ['{{ contact.firstName | upcas }}', '"upcase"'],
    ['{{ contact.customFieldValues.plam }}', '"contact.customFieldValues.plan"'],
  ] as const
  for (const [html, suggestion] of faults) {
    const { issues } = expectError(await call('PATCH', path, { html }), 400)
    expect(issues).toEqual([
      { path: 'html', message: expect.stringMatching(/line \d+.*col(umn)?[: ]*\d+.*did you mean/is) },
    ])
    expect(issues?.[0]?.message).toContain(suggestion)
  }
  expect((await call('PATCH', path, { html: '{% for tag in contact.tags %}{{ tag }}{% endfor %}' })).status).toBe(204)
})

test('POST /campaigns/{id}/send: checks the templates again', async () => {
  const field = await api.create<{ id: string }>('/custom-fields', workspace.key, {
    key: 'gone',
    label: 'x',
    type: 'TEXT',
  })
  await subscribe()
  await call('PATCH', path, { html: '{{ contact.customFieldValues.gone }}' })
  await call('DELETE', `/custom-fields/${field.id}`)
  expect(expectError(await call('POST', `${path}/send`), 409).issues?.[0]?.message).toContain('gone')
})

test('GET /template-variables: includes the custom fields of the workspace', async () => {
  await api.create('/custom-fields', workspace.key, { key: 'seats', label: 'Seats', type: 'NUMBER' })
  const { text } = await call('GET', '/template-variables')
  for (const name of [
    'contact.firstName',
    'campaign.',
    'list.name',
    'workspace.name',
    'unsubscribeUrl',
    'seats',
    'upcase',
  ]) {
    expect(text).toContain(name)
  }
})

test('GET /campaigns/{id}/audience: who will receive it, and who is excluded', async () => {
  await subscribe()
  await api.create(`/lists/${listId}/subscribers`, workspace.key, { email: freshEmail() })
  const excluded = { pending: 1, unsubscribed: 0, bounced: 0, complained: 0 }
  expect((await call('GET', `${path}/audience`)).body).toMatchObject({ willReceive: 1, excluded })
})

test('POST /campaigns/{id}/send: an exact count; the specified 400; once only', async () => {
  const withoutSubscribers = await call('POST', `${path}/send`)
  expect([withoutSubscribers.status, withoutSubscribers.text]).toEqual([
    400,
    '{"statusCode":400,"message":"List has no subscribed recipients","error":"Bad Request"}',
  ])
  await subscribe()
  await subscribe()
  const responses = await Promise.all([call('POST', `${path}/send`), call('POST', `${path}/send`)])
  expect(countStatuses(responses)).toEqual({ 202: 1, 409: 1 })
  expect(responses.find(({ status }) => status === 202)?.body).toEqual({ queued: 2 })
})

test('POST /campaigns/{id}/send-test: 202, and the link of the mail does nothing', async () => {
  const contactId = await subscribe()
  const sent = await call('POST', `${path}/send-test`, { email: freshEmail(), contactId })
  expect(sent).toMatchObject({ status: 202, body: { queued: 1 } })
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
  expect((await call('GET', `${path}/stats`)).body).toEqual({ queued: 1, pending: 1, complained: 0, ...zeros })
})

test('GET /campaigns/{id}/recipients: by status or contactId', async () => {
  const contactId = await subscribe()
  await call('POST', `${path}/send`)
  const [recipient] = (await listOf(`${path}/recipients?contactId=${contactId}`)) as Json[]
  expect(recipient).toMatchObject({ contactId, status: 'PENDING', error: null })
  expect(await listOf(`${path}/recipients?status=SENT`)).toEqual([])
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

test('GET /public/open and GET /public/click: refuse a forged token', async () => {
  expect((await api.call('GET', '/public/open?token=forged&utm_source=x')).status).toBe(400)
  expect((await api.call('GET', '/public/click?token=forged&utm_source=x')).status).toBe(400)
})
