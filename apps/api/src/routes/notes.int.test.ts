import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, expectError, freshEmail, type Json, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { key: workspace.key, ...(body !== undefined && { body }) })
const createContact = () => api.create<Json & { id: string }>('/contacts', workspace.key, { email: freshEmail() })
const listOf = async (path: string) => (await call('GET', path)).body['data'] as Json[]

test('POST and GET /notes, GET, PATCH and DELETE /notes/{id}', async () => {
  const { id: contactId } = await createContact()
  const input = { kind: 'CALL', body: '  Asked for an offer.\n', occurredAt: '2026-11-21T07:30:00+01:00', contactId }
  const created = await call('POST', '/notes', input)
  const note = {
    id: expect.stringMatching(/^nte_/),
    kind: 'CALL',
    body: 'Asked for an offer.',
    occurredAt: '2026-11-21T06:30:00.000Z',
    contactId,
    companyId: null,
    dealId: null,
    authorId: null,
    apiKeyId: expect.stringMatching(/^key_/),
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  }
  expect(created).toMatchObject({ status: 201, body: note })
  expect(Object.keys(created.body)).toEqual(Object.keys(note))
  const path = `/notes/${String(created.body['id'])}`
  expect(created.headers['location']).toBe(path)
  expect(await listOf(`/notes?contactId=${contactId}`)).toEqual([created.body])
  const changed = await call('PATCH', path, { body: 'Wants an offer.' })
  expect(changed).toMatchObject({ status: 200, body: { ...note, body: 'Wants an offer.' } })
  expect((await call('GET', path)).body).toEqual(changed.body)
  expect((await listOf(`/contacts/${contactId}/activity`)).map(({ type }) => type)).toEqual([
    'note.updated',
    'note.created',
    'contact.created',
  ])
  expect((await call('DELETE', path)).status).toBe(204)
  expectError(await call('GET', path), 404)
})

test('the activity of a company shows its notes', async () => {
  const { id: companyId } = await api.create<{ id: string }>('/companies', workspace.key, { name: 'Acme' })
  const note = await api.create('/notes', workspace.key, { companyId, body: 'Called' })
  expect(await listOf(`/notes?companyId=${companyId}`)).toEqual([note])
  expect((await listOf(`/companies/${companyId}/activity`))[0]).toMatchObject({ type: 'note.created', data: note })
  expect((await call('DELETE', `/companies/${companyId}`)).status).toBe(204)
  expectError(await call('GET', `/notes/${String(note['id'])}`), 404)
})

test('a member is the author of a note', async () => {
  const { id: contactId } = await createContact()
  const options = { key: workspace.token, body: { contactId, body: 'Called' } }
  const { body } = await api.call('POST', '/notes', options)
  const me = await api.call<{ user: { id: string } }>('GET', '/auth/me', { key: workspace.token })
  expect(body).toMatchObject({ kind: 'NOTE', authorId: me.body.user.id, apiKeyId: null })
  expect(await listOf(`/notes?authorId=${me.body.user.id}`)).toEqual([body])
})

test('invalid notes are rejected with the field', async () => {
  const { id: contactId } = await createContact()
  const invalid: [path: string, body: Json][] = [
    ['contactId', { body: 'Called' }],
    ['contactId', { body: 'Called', contactId: '' }],
    ['contactId', { body: 'Called', contactId: 'con_1' }],
    ['body', { contactId }],
    ['body', { contactId, body: ' ' }],
    ['body', { contactId, body: 'a\u0000b' }],
    ['body', { contactId, body: 'é'.repeat(8_193) }],
    ['body', { contactId, body: 'x'.repeat(20_001) }],
    ['kind', { contactId, body: 'Called', kind: 'call' }],
    ['occurredAt', { contactId, body: 'Called', occurredAt: 'yesterday' }],
    ['occurredAt', { contactId, body: 'Called', occurredAt: '+010000-01-01T00:00:00Z' }],
    ['occuredAt', { contactId, body: 'Called', occuredAt: '2026-01-01' }],
    ['authorId', { contactId, body: 'Called', authorId: 'usr_01kag7m3v9e8fs2t4w6x8y0z1b' }],
  ]
  for (const [path, body] of invalid) {
    const response = await call('POST', '/notes', body)
    expectError(response, 400)
    expect(response.body['issues']).toMatchObject([{ path }])
  }
  for (const query of ['kind=SMS', 'contactId=con_1', 'occurredAfter=soon', 'sort=body'])
    expectError(await call('GET', `/notes?${query}`), 400)
})

test('what a note is about cannot be changed', async () => {
  const { id: contactId } = await createContact()
  const { id } = await api.create<{ id: string }>('/notes', workspace.key, { contactId, body: 'Called' })
  for (const name of ['contactId', 'companyId', 'dealId', 'authorId'])
    expectError(await call('PATCH', `/notes/${id}`, { [name]: null }), 400)
  expectError(await call('PATCH', `/notes/${id}`, { body: null }), 400)
})

test('a repeated POST with a key makes one note, and If-Match guards a change', async () => {
  const { id: contactId } = await createContact()
  const { key } = workspace
  const body = { contactId, body: 'Called' }
  const post = () => api.call('POST', '/notes', { key, body, headers: { 'idempotency-key': 'once' } })
  const [first, second] = [await post(), await post()]
  expect(second).toMatchObject({ status: 201, body: first.body, headers: { 'idempotent-replayed': 'true' } })
  expect(await listOf(`/notes?contactId=${contactId}`)).toHaveLength(1)
  const path = `/notes/${String(first.body['id'])}`
  const { etag = '' } = (await call('GET', path)).headers
  const change = (body: string) => api.call('PATCH', path, { key, body: { body }, headers: { 'if-match': etag } })
  expect([(await change('Once')).status, (await change('Twice')).status]).toEqual([200, 412])
})

test('a VIEWER reads notes, and a key with rights only what they name', async () => {
  const { id: contactId } = await createContact()
  const note = await api.create<{ id: string }>('/notes', workspace.key, { contactId, body: 'Called' })
  const viewer = await api.issueKey(workspace.token, 'VIEWER')
  expect((await api.call('GET', `/notes/${note.id}`, { key: viewer })).status).toBe(200)
  expectError(await api.call('POST', '/notes', { key: viewer, body: { contactId, body: 'x' } }), 403)
  expectError(await api.call('DELETE', `/notes/${note.id}`, { key: viewer }), 403)
  const rights = { name: 'Notes', role: 'MEMBER', rights: ['notes.*', '-notes.delete'] }
  const { key } = await api.create<{ key: string }>('/api-keys', workspace.token, rights)
  expect((await api.call('PATCH', `/notes/${note.id}`, { key, body: { body: 'Yes' } })).status).toBe(200)
  expectError(await api.call('DELETE', `/notes/${note.id}`, { key }), 403)
})
