/** Contacts, imports and custom fields: one test for each route of the contract. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, anId, countStatuses, expectError, freshEmail, type Json, startTestApi } from '../testing.ts'

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

test('POST /contacts: only email is required; a taken address is a 409 with contactId', async () => {
  const email = freshEmail()
  const created = await call<Contact>('POST', '/contacts', { email })
  expect(created).toMatchObject({ status: 201, headers: { location: `/contacts/${created.body.id}` } })
  expect(created.body).toEqual({
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
  })
  const taken = await call('POST', '/contacts', { email: email.toUpperCase() })
  expectError(taken, 409, 'Contact already exists')
  expect(taken.body).toMatchObject({ code: 'already_exists', contactId: created.body.id })
})

test('PUT /contacts: creates with 201 or updates with 200, safe under concurrency', async () => {
  const email = freshEmail()
  const put = (n: number) => call('PUT', '/contacts', { email, company: `Company ${n}` })
  expect(countStatuses(await Promise.all([put(1), put(2), put(3)]))).toEqual({ 200: 2, 201: 1 })
  expect(await listOf(`/contacts?email=${email}`)).toHaveLength(1)
})

test('POST /contacts/batch: one result for each contact, in their order', async () => {
  const known = await createContact({ company: 'Before' })
  const contacts = [{ email: freshEmail() }, { email: known.email, company: 'After' }, { email: 'not an address' }]
  const batch = async (onConflict?: string) => {
    const response = await call('POST', '/contacts/batch', { contacts, ...(onConflict && { onConflict }) })
    expect(response.status).toBe(200)
    return response.body['results']
  }
  expect(await batch()).toEqual([
    { status: 'CREATED', contact: expect.objectContaining({ id: anId('con') }) },
    expect.objectContaining({ status: 'FAILED', code: 'already_exists' }),
    expect.objectContaining({ status: 'FAILED', code: 'validation_error', issues: [expect.objectContaining({})] }),
  ])
  expect(await batch('skip')).toMatchObject([{ status: 'SKIPPED' }, { status: 'SKIPPED' }, { status: 'FAILED' }])
  expect(await batch('update')).toMatchObject([
    { status: 'UPDATED' },
    { status: 'UPDATED', contact: { id: known.id, company: 'After' } },
    { status: 'FAILED' },
  ])
  expect(await typesOf(known.id)).toEqual(['contact.updated', 'contact.created'])
  for (const bad of [[], Array.from({ length: 101 }, () => ({ email: freshEmail() })), 'x']) {
    expectError(await call('POST', '/contacts/batch', { contacts: bad }), 400)
  }
})

test('GET /contacts: filters, sorts and total', async () => {
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
  for (const field of ['createdAt', 'updatedAt', 'lastActivityAt', 'email']) {
    const ids = async (sort: string) => (await listOf(`/contacts?sort=${sort}`)).map(({ id }) => id)
    expect(await ids(`-${field}`)).toEqual((await ids(field)).toReversed())
  }
  const counted = (await call<Page>('GET', `/contacts?limit=1&tag=vip&count=true`)).body
  expect(counted).toMatchObject({ total: 1, isEstimate: false })
  expect((await call<Page>('GET', '/contacts')).body.total).toBeUndefined()
  expectError(await call('GET', '/contacts?count=yes'), 400)
})

test('GET and PATCH /contacts/{id}: merges custom field values and replaces tags', async () => {
  for (const key of ['seats', 'city']) {
    await api.create('/custom-fields', workspace.key, { key, label: key, type: 'TEXT' })
  }
  const { id } = await createContact({ tags: ['a', 'b'], customFieldValues: { seats: '1', city: 'Paris' } })
  const changed = await call('PATCH', `/contacts/${id}`, { tags: ['c'], customFieldValues: { seats: null } })
  expect(changed).toMatchObject({ status: 200, body: { tags: ['c'], customFieldValues: { city: 'Paris' } } })
  expect((await call('GET', `/contacts/${id}`)).body).toEqual(changed.body)
  const unknown = expectError(await call('PATCH', `/contacts/${id}`, { customFieldValues: { cty: 'Rome' } }), 400)
  expect(unknown.issues).toEqual([
    { path: 'customFieldValues.cty', message: 'unknown custom field (did you mean "city"?)' },
  ])
})

test('DELETE /contacts/{id}: keeps the opt-out; deals and tasks emit their own events', async () => {
  const list = await api.create<{ id: string }>('/lists', workspace.key, { name: 'Opt-out' })
  const contact = await createContact()
  const [pipeline] = await listOf('/pipelines')
  const deal = { pipelineId: pipeline?.['id'], contactId: contact.id, name: 'Deal' }
  const { id: dealId } = await api.create<{ id: string }>('/deals', workspace.key, deal)
  const { id: taskId } = await api.create<{ id: string }>(`/contacts/${contact.id}/tasks`, workspace.key, {
    title: 'Call',
  })
  await api.create(`/lists/${list.id}/subscribers`, workspace.key, { contactId: contact.id, status: 'CONFIRMED' })
  await api.query(`update subscriptions set status = 'UNSUBSCRIBED' where contact_id in (select id from contacts
    where email = '${contact.email}')`)
  expect((await call('DELETE', `/contacts/${contact.id}`)).status).toBe(204)
  for (const path of [`/contacts/${contact.id}`, `/deals/${dealId}`, `/tasks/${taskId}`]) {
    expectError(await call('GET', path), 404)
  }
  const types = (await listOf(`/events?contactId=${contact.id}`)).map(({ type }) => type)
  expect(types).toEqual(expect.arrayContaining(['contact.deleted', 'deal.deleted', 'task.deleted']))
  const again = await call('POST', `/lists/${list.id}/subscribers`, { email: contact.email, status: 'CONFIRMED' })
  expect(expectError(again, 409).code).toBe('opted_out')
})

test('POST /contacts/{id}/tags, DELETE /contacts/{id}/tags/{tag}', async () => {
  const { id } = await createContact({ tags: ['a'] })
  const added = await call('POST', `/contacts/${id}/tags`, { tags: ['b', 'a'] })
  expect(added).toMatchObject({ status: 200, body: { tags: ['a', 'b'] } })
  expect(await call('DELETE', `/contacts/${id}/tags/a`)).toMatchObject({ status: 200, body: { tags: ['b'] } })
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
  const [event] = await listOf(`/events?type=contact.merged&contactId=${survivor.id}`)
  expect(event).toMatchObject({ data: { mergedContactId: duplicate.id } })
})

test('GET /contacts/{id}/activity: newest first', async () => {
  const { id } = await createContact()
  await call('PATCH', `/contacts/${id}`, { company: 'Acme' })
  expect(await typesOf(id)).toEqual(['contact.updated', 'contact.created'])
})

test('POST /contacts/import, GET /imports, GET /imports/{id}: CSV and NDJSON', async () => {
  const upload = (type: string, raw: string, query = '') =>
    api.call('POST', `/contacts/import${query}`, { key: workspace.key, raw, headers: { 'content-type': type } })
  const csv = await upload('text/csv', `email\n${freshEmail()}`, '?onConflict=update&dryRun=true&events=each')
  expect(csv).toMatchObject({ status: 202, body: { id: anId('imp'), status: 'QUEUED', processed: 0, errors: [] } })
  const ndjson = await upload('application/x-ndjson', JSON.stringify({ email: freshEmail() }))
  expect(ndjson.status).toBe(202)
  expect((await call('GET', `/imports/${String(csv.body['id'])}`)).body).toEqual(csv.body)
  expect(await listOf('/imports?status=QUEUED')).toEqual([ndjson.body, csv.body])
  const list = await api.create<{ id: string }>('/lists', workspace.key, { name: 'Import' })
  const withoutConsent = await upload('text/csv', `email\n${freshEmail()}`, `?listId=${list.id}`)
  expect(expectError(withoutConsent, 400).issues?.[0]?.path).toBe('consent')
  expectError(await upload('text/csv', `email\nx`, '?onConflict=replace'), 400)
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
