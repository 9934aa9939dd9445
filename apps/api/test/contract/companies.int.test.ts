/** Companies: the routes of the contract. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, countStatuses, expectError, freshEmail, type Json, startTestApi } from '../testing.ts'

type Company = Json & { id: string; name: string }

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const call = <Body = Json>(method: string, path: string, body?: unknown) =>
  api.call<Body>(method, path, { key: workspace.key, ...(body !== undefined && { body }) })
const createCompany = (more: object = {}) => api.create<Company>('/companies', workspace.key, { name: 'Acme', ...more })
const listOf = async (path: string) => (await call<{ data: Json[] }>('GET', path)).body.data

test('POST /companies: the record with every property, null where it has none', async () => {
  const { body, headers } = await call<Company>('POST', '/companies', { name: ' Acme ', domain: 'Acme.Example' })
  expect(body).toEqual({
    id: expect.stringMatching(/^cpy_/),
    name: 'Acme',
    domain: 'acme.example',
    externalId: null,
    ownerId: null,
    phone: null,
    website: null,
    customFieldValues: {},
    tags: [],
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  })
  expect(headers['location']).toBe(`/companies/${body.id}`)
  const { body: taken } = await call('POST', '/companies', { name: 'Other', domain: 'acme.example' })
  expect(taken).toMatchObject({ statusCode: 409, code: 'already_exists', companyId: body.id })
  const refused = await call('POST', '/companies', { name: 'Other', domain: 'GMail.com' })
  expect(expectError(refused, 400).issues).toMatchObject([{ path: 'domain' }])
})

test('PUT /companies: 201 or 200 with matched-by, or 409 identity_conflict', async () => {
  const put = (body: object) => call<Company>('PUT', '/companies', body)
  const one = { name: 'Put', domain: 'put.example' }
  expect(countStatuses(await Promise.all([put(one), put(one), put(one)]))).toEqual({ 200: 2, 201: 1 })
  const named = await put({ domain: 'put.example', externalId: 'org_put' })
  expect([named.status, named.headers['matched-by']]).toEqual([200, 'domain'])
  expect((await put({ externalId: 'org_put' })).headers['matched-by']).toBe('externalId')
  const { id } = await createCompany({ domain: 'other.example' })
  const conflict = await put({ externalId: 'org_put', domain: 'other.example' })
  expect(conflict.body).toMatchObject({ code: 'identity_conflict', companyIds: [named.body.id, id] })
})

test('POST /companies/batch: a result for each entry', async () => {
  const companies = [{ name: 'Batch', domain: 'batch.example' }, { nane: 'Typo' }]
  const { body } = await call('POST', '/companies/batch', { companies })
  expect(body).toMatchObject({
    results: [{ status: 'CREATED' }, { status: 'FAILED', issues: [{ path: 'nane' }] }],
  })
})

test('GET and PATCH /companies/{id}: merges custom values, clears by null', async () => {
  await api.create('/custom-fields', workspace.key, { object: 'COMPANY', key: 'tier', label: 'Tier', type: 'TEXT' })
  const { id } = await createCompany({ tags: ['a'], phone: '+44 20 7946 0000' })
  const change = { customFieldValues: { tier: 'gold' }, tags: ['b', 'b'], phone: null }
  const { body } = await call('PATCH', `/companies/${id}`, change)
  expect(body).toMatchObject({ customFieldValues: { tier: 'gold' }, tags: ['b'], phone: null })
  expect((await call('GET', `/companies/${id}`)).body).toEqual(body)
  const filters = ['search=Acmee', 'tag=b', 'customField.tier=gold']
  for (const filter of filters) expect(await listOf(`/companies?${filter}`)).toContainEqual(body)
})

test('DELETE /companies/{id}: 409 with dealCount while a deal names it, 404 afterwards', async () => {
  const { id } = await createCompany()
  const contact = await api.create<{ id: string }>('/contacts', workspace.key, { email: freshEmail(), companyId: id })
  const [{ id: pipelineId } = {}] = await listOf('/pipelines')
  const input = { pipelineId, contactId: contact.id, companyId: id }
  const deal = await api.create<{ id: string }>('/deals', workspace.key, input)
  expect(await listOf(`/companies/${id}/contacts`)).toMatchObject([{ id: contact.id }])
  const types = (await listOf(`/companies/${id}/activity`)).map(({ type }) => type)
  expect(types).toEqual(['deal.created', 'company.created'])
  expect((await call('DELETE', `/companies/${id}`)).body).toMatchObject({ code: 'in_use', dealCount: 1 })
  await call('DELETE', `/deals/${deal.id}`)
  expect((await call('DELETE', `/companies/${id}`)).status).toBe(204)
  for (const path of ['', '/contacts', '/activity']) expectError(await call('GET', `/companies/${id}${path}`), 404)
  expect(await listOf(`/contacts?companyId=${id}`)).toEqual([])
})
