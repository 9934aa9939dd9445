/** Quotas of a workspace on the records that it stores. */
import type { QuotaName } from '@rapport/core/kernel/quotas.ts'
import { setQuotas as setQuotasOf } from '@rapport/core/workspaces/set-quotas.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { type ApiResponse, expectError, freshEmail, type Json, startTestApi, type TestWorkspace } from '../testing.ts'

const api = useForFile(() => startTestApi({ environment: { QUOTA_LISTS: '3' } }))
let workspace: TestWorkspace
beforeEach(async () => {
  workspace = await api.signUp()
})
const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { key: workspace.key, ...(body !== undefined && { body }) })
const post = (path: string, body: unknown) => call('POST', path, body)
const setQuotas = (quotas: Partial<Record<QuotaName, number>>) => setQuotasOf(api.ctx(workspace.id), quotas)
const usageOf = async (name: QuotaName) => (await call('GET', '/workspace/usage')).body[name]

const expectQuota = (response: ApiResponse) => expect(expectError(response, 409).code).toBe('quota_exceeded')

const stages = [{ name: 'Lead' }]
const fields = [{ id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' }]
const bodies = {
  lists: () => ['/lists', { name: 'News' }],
  forms: () => ['/forms', { name: 'Contact', fields }],
  pipelines: () => ['/pipelines', { name: 'Sales', stages }],
  apiKeys: () => ['/api-keys', { name: 'Key' }],
  webhooks: () => ['/webhooks', { url: 'https://example.com/hook', eventTypes: ['*'] }],
  domains: () => ['/domains', { name: `host${Math.random()}.example.com`.replace('0.', '') }],
  customFields: () => ['/custom-fields', { key: `k${Math.random()}`.replace('0.', ''), label: 'L', type: 'TEXT' }],
  contacts: () => ['/contacts', { email: freshEmail() }],
} satisfies Partial<Record<QuotaName, () => [string, Json]>>

test.each(Object.entries(bodies))('%s: 409 above the quota, also for concurrent requests', async (name, request) => {
  const quota = name as keyof typeof bodies
  const { used = 0 } = (await usageOf(quota)) as { used?: number }
  await setQuotas({ [quota]: used + 2 })
  const statuses = await Promise.all(
    // No more, as the keys of few domains are generated at once.
    Array.from({ length: 4 }, async () => {
      const [path, body] = request() as [string, Json]
      return post(path, body)
    }),
  )
  expect(statuses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 201, 409, 409])
  const error = statuses.find(({ status }) => status === 409)
  expect(error?.body).toMatchObject({ code: 'quota_exceeded', quota, limit: used + 2 })
  expect(await usageOf(quota)).toEqual({ used: used + 2, isEstimate: false, limit: used + 2 })
})

test('GET /workspace/usage: quotas of the installation, and 0 for no limit', async () => {
  for (let n = 0; n < 3; n += 1) await api.create('/lists', workspace.key, { name: 'News' })
  expectQuota(await post('/lists', { name: 'News' }))
  await setQuotas({ lists: 0 })
  expect((await post('/lists', { name: 'News' })).status).toBe(201)
  expect(await usageOf('lists')).toEqual({ used: 4, isEstimate: false, limit: null })
})

test('the usage counts only records of the workspace', async () => {
  await api.create('/contacts', (await api.signUp()).key, { email: freshEmail() })
  expect(await usageOf('contacts')).toEqual({ used: 0, isEstimate: false, limit: 5_000_000 })
})

test('a deleted contact frees its part of the quota', async () => {
  await setQuotas({ contacts: 1 })
  const contact = await api.create<{ id: string }>('/contacts', workspace.key, { email: freshEmail() })
  expectQuota(await post('/contacts', { email: freshEmail() }))
  expect((await call('DELETE', `/contacts/${contact.id}`)).status).toBe(204)
  expect((await post('/contacts', { email: freshEmail() })).status).toBe(201)
})

test('updates of a known contact take nothing of the quota', async () => {
  const email = freshEmail()
  const list = await api.create<{ id: string }>('/lists', workspace.key, { name: 'News' })
  await setQuotas({ contacts: 2 })
  await api.create('/contacts', workspace.key, { email })
  expect((await call('PUT', '/contacts', { email, firstName: 'Ada' })).status).toBe(200)
  expect((await post('/contacts', { email })).status).toBe(409)
  expect(
    (await post('/contacts/batch', { contacts: [{ email, firstName: 'Eve' }], onConflict: 'update' })).status,
  ).toBe(200)
  const subscribed = await api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email } })
  expect(subscribed.status).toBeLessThan(300)
  expect((await post('/contacts', { email: freshEmail() })).status).toBe(201)
  expectQuota(await post('/contacts', { email: freshEmail() }))
})

test('a full workspace still updates contacts, one by one and in a batch', async () => {
  const email = freshEmail()
  await setQuotas({ contacts: 1 })
  await api.create('/contacts', workspace.key, { email })
  expect((await call('PUT', '/contacts', { email, firstName: 'Ada' })).status).toBe(200)
  expectQuota(await call('PUT', '/contacts', { email: freshEmail() }))
  const contacts = [{ email: freshEmail() }, { email, lastName: 'Lovelace' }, { email: freshEmail() }]
  const { body } = await post('/contacts/batch', { contacts, onConflict: 'update' })
  expect(body['results']).toMatchObject([
    { status: 'FAILED', code: 'quota_exceeded' },
    { status: 'UPDATED', contact: { firstName: 'Ada', lastName: 'Lovelace' } },
    { status: 'FAILED', code: 'quota_exceeded' },
  ])
})

test('a full workspace does not reveal to visitors whom it knows', async () => {
  const list = await api.create<{ id: string }>('/lists', workspace.key, { name: 'News' })
  const email = freshEmail()
  await setQuotas({ contacts: 1 })
  await api.create('/contacts', workspace.key, { email })
  for (const address of [email, freshEmail()]) {
    const response = await api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: address } })
    expectQuota(response)
  }
})

test('the options of all custom fields share a quota of bytes', async () => {
  await setQuotas({ customFieldBytes: 10 })
  const field = await api.create<{ id: string }>('/custom-fields', workspace.key, {
    key: 'plan',
    label: 'Plan',
    type: 'SELECT',
    options: ['12345', '678'],
  })
  const other = { key: 'size', label: 'Size', type: 'SELECT', options: ['äö'] }
  expectQuota(await post('/custom-fields', other))
  const grow = { options: ['12345', '678', '901'] }
  expectQuota(await call('PATCH', `/custom-fields/${field.id}`, grow))
  expect((await call('PATCH', `/custom-fields/${field.id}`, { options: ['1234567890'] })).status).toBe(200)
})

test('the bodies of all campaigns share a quota of bytes', async () => {
  const list = await api.create<{ id: string }>('/lists', workspace.key, { name: 'News' })
  const campaign = { name: 'May', subject: 'News', listId: list.id }
  await setQuotas({ campaignBytes: 200 })
  const { id } = await api.create<{ id: string }>('/campaigns', workspace.key, { ...campaign, html: 'x'.repeat(150) })
  expectQuota(await post('/campaigns', { ...campaign, text: 'y'.repeat(60) }))
  expectQuota(await call('PATCH', `/campaigns/${id}`, { text: 'y'.repeat(60) }))
  expect((await call('PATCH', `/campaigns/${id}`, { html: 'x', text: 'y'.repeat(150) })).status).toBe(204)
  expect(await usageOf('campaignBytes')).toEqual({ used: 151, isEstimate: false, limit: 200 })
})
