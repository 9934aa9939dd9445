/** Contacts, imports and custom fields: routes of the contract without a test elsewhere. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, countStatuses, expectError, freshEmail, type Json, startTestApi } from '../testing.ts'

interface Page {
  data: Json[]
  nextCursor: string | null
  total?: number
}
type Contact = Json & { id: string; email: string }

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const call = <Body = Json>(method: string, path: string, body?: unknown) =>
  api.call<Body>(method, path, { key: workspace.key, ...(body !== undefined && { body }) })
const createContact = (more: object = {}) =>
  api.create<Contact>('/contacts', workspace.key, { email: freshEmail(), ...more })
const listOf = async (path: string) => (await call<Page>('GET', path)).body.data
const typesOf = async (id: string) => (await listOf(`/contacts/${id}/activity?limit=100`)).map(({ type }) => type)

test('PUT /contacts: creates with 201 or updates with 200, safe under concurrency', async () => {
  const email = freshEmail()
  const put = (n: number) => call('PUT', '/contacts', { email, company: `Company ${n}` })
  expect(countStatuses(await Promise.all([put(1), put(2), put(3)]))).toEqual({ 200: 2, 201: 1 })
  expect(await listOf(`/contacts?email=${email}`)).toHaveLength(1)
})

test('GET /contacts: each filter, and the total on request', async () => {
  const list = await api.create<{ id: string }>('/lists', workspace.key, { name: 'Filter' })
  await api.create('/custom-fields', workspace.key, { key: 'plan', label: 'Plan', type: 'TEXT' })
  const ada = await createContact({
    firstName: 'Zaphod',
    company: 'Heart of Gold',
    tags: ['vip', 'president'],
    customFieldValues: { plan: 'pro' },
    source: 'import',
  })
  await api.create(`/lists/${list.id}/subscribers`, workspace.key, { contactId: ada.id, status: 'CONFIRMED' })
  const filters = [
    `email=${ada.email}`,
    'search=zaphd',
    'tag=vip&tag=president',
    `listId=${list.id}`,
    'emailSubscribedStatus=SUBSCRIBED',
    'source=import',
    'customField.plan=pro',
  ]
  for (const filter of filters) {
    expect([filter, (await listOf(`/contacts?${filter}`)).map(({ id }) => id)]).toEqual([filter, [ada.id]])
  }
  const none = [
    'tag=vip&tag=no',
    'customField.plan=free',
    'updatedBefore=2026-01-01',
    'createdAfter=2100-01-01',
    'createdBefore=2026-01-01',
    'updatedAfter=2100-01-01',
  ]
  for (const filter of none) expect([filter, await listOf(`/contacts?${filter}`)]).toEqual([filter, []])
  const counted = (await call<Page>('GET', `/contacts?limit=1&tag=vip&count=true`)).body
  expect(counted).toMatchObject({ total: 1, isEstimate: false })
  expect((await call<Page>('GET', '/contacts')).body.total).toBeUndefined()
})

test('GET and PATCH /contacts/{id}: merges custom field values and replaces tags', async () => {
  for (const key of ['seats', 'city']) {
    await api.create('/custom-fields', workspace.key, { key, label: key, type: 'TEXT' })
  }
  const { id } = await createContact({ tags: ['a', 'b'], customFieldValues: { seats: '1', city: 'Paris' } })
  const changed = await call('PATCH', `/contacts/${id}`, { tags: ['c'], customFieldValues: { seats: null } })
  expect(changed).toMatchObject({ status: 200, body: { tags: ['c'], customFieldValues: { city: 'Paris' } } })
  expect((await call('GET', `/contacts/${id}`)).body).toEqual(changed.body)
})

test('DELETE /contacts/{id}: deletes its deals and tasks with it', async () => {
  const contact = await createContact()
  const [pipeline] = await listOf('/pipelines')
  const deal = { pipelineId: pipeline?.['id'], contactId: contact.id, name: 'Deal' }
  const { id: dealId } = await api.create<{ id: string }>('/deals', workspace.key, deal)
  const { id: taskId } = await api.create<{ id: string }>(`/contacts/${contact.id}/tasks`, workspace.key, {
    title: 'Call',
  })
  expect((await call('DELETE', `/contacts/${contact.id}`)).status).toBe(204)
  for (const path of [`/contacts/${contact.id}`, `/deals/${dealId}`, `/tasks/${taskId}`]) {
    expectError(await call('GET', path), 404)
  }
})

test('POST /contacts/{id}/tags, DELETE /contacts/{id}/tags/{tag}', async () => {
  const { id } = await createContact({ tags: ['a'] })
  const added = await call('POST', `/contacts/${id}/tags`, { tags: ['b', 'a'] })
  expect(added).toMatchObject({ status: 200, body: { tags: ['a', 'b'] } })
  expect(await call('DELETE', `/contacts/${id}/tags/a`)).toMatchObject({ status: 200, body: { tags: ['b'] } })
  for (const tag of ['x'.repeat(101), '%0A', '%00'])
    expect(await call('DELETE', `/contacts/${id}/tags/${tag}`)).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'tag' }] },
    })
})

test('POST /contacts/{id}/merge: moves deals, tasks and history', async () => {
  const [survivor, duplicate] = [await createContact(), await createContact({ company: 'Acme' })]
  const [pipeline] = await listOf('/pipelines')
  const deal = { pipelineId: pipeline?.['id'], contactId: duplicate.id, name: 'Deal' }
  const { id: dealId } = await api.create<{ id: string }>('/deals', workspace.key, deal)
  await api.create(`/contacts/${duplicate.id}/tasks`, workspace.key, { title: 'Call' })
  const merged = await call('POST', `/contacts/${survivor.id}/merge`, { contactId: duplicate.id })
  expect(merged).toMatchObject({ status: 200, body: { id: survivor.id, company: 'Acme' } })
  expect((await call('GET', `/deals/${dealId}`)).body).toMatchObject({ contactId: survivor.id })
  const types = await typesOf(survivor.id)
  expect(types.filter((type) => type === 'contact.created')).toHaveLength(2)
  expect(types).toEqual(expect.arrayContaining(['contact.merged', 'deal.created', 'deal.updated', 'task.updated']))
  await expect
    .poll(() => listOf(`/events?type=contact.merged&contactId=${survivor.id}`))
    .toMatchObject([{ data: { mergedContactId: duplicate.id } }])
})

test('GET /contacts/{id}/activity: newest first', async () => {
  const { id } = await createContact()
  await call('PATCH', `/contacts/${id}`, { company: 'Acme' })
  expect(await typesOf(id)).toEqual(['contact.updated', 'contact.created'])
})

test('DELETE /imports/{id}: cancels an import; one that has ended returns 409', async () => {
  const raw = `email\n${freshEmail()}`
  const headers = { 'content-type': 'text/csv' }
  const { body } = await api.call('POST', '/contacts/import', { key: workspace.key, raw, headers })
  const path = `/imports/${String(body['id'])}`
  expect((await call('DELETE', path)).status).toBe(204)
  expect((await call('GET', path)).body).toEqual({ ...body, status: 'CANCELED', completedAt: aTimestamp })
  expect(expectError(await call('DELETE', path), 409).code).toBe('wrong_state')
  expectError(await call('DELETE', '/imports/imp_01kag7m3v9e8fs2t4w6x8y0z1b'), 404)
})

test('GET /contacts/export: with filters, as CSV that is safe in a spreadsheet', async () => {
  const contact = await createContact({ firstName: '=1+1', tags: ['exported'] })
  const csv = await call('GET', '/contacts/export?format=csv&tag=exported')
  expect(csv).toMatchObject({ status: 200, headers: { 'content-type': 'text/csv; charset=utf-8' } })
  expect(csv.text).toContain("'=1+1")
  const ndjson = await call('GET', '/contacts/export?format=ndjson&tag=exported')
  expect(JSON.parse(ndjson.text)).toMatchObject({ id: contact.id, firstName: '=1+1' })
})

test('GET and POST /custom-fields, GET, PATCH and DELETE /custom-fields/{id}', async () => {
  const field = { key: 'tier', label: 'Tier', type: 'SELECT', options: ['gold', 'silver'] }
  const created = await call('POST', '/custom-fields', field)
  expect(created).toMatchObject({ status: 201, body: field })
  const path = String(created.headers['location'])
  expect((await call('GET', path)).body).toEqual(created.body)
  expect(await listOf('/custom-fields')).toContainEqual(created.body)
  const wrong = await call('POST', '/contacts', { email: freshEmail(), customFieldValues: { tier: 'bronze' } })
  expect(expectError(wrong, 400).issues?.[0]?.path).toBe('customFieldValues.tier')
  expectError(await call('PATCH', path, { key: 'other' }), 400)
  expect((await call('PATCH', path, { label: 'Level' })).body).toMatchObject({ key: 'tier', label: 'Level' })
  expect((await call('DELETE', path)).status).toBe(204)
})
