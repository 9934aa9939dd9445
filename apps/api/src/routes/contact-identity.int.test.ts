import { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, freshEmail, type Json, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

const call = (method: string, path: string, body: Json) => api.call<Contact>(method, path, { key: workspace.key, body })
const put = (body: Json, headers = {}) => api.call<Contact>('PUT', '/contacts', { key: workspace.key, body, headers })

test('PUT /contacts says which key found the contact', async () => {
  const [email, changed] = [freshEmail(), freshEmail()]
  const created = await put({ externalId: 'user_1', email })
  expect([created.status, created.headers['matched-by']]).toEqual([201, 'none'])
  for (const [body, matchedBy] of [
    [{ externalId: 'user_1' }, 'externalId'],
    [{ externalId: 'user_1', email: changed }, 'externalId'],
    [{ email: changed }, 'email'],
  ] as const) {
    const response = await put(body)
    expect([response.status, response.headers['matched-by'], response.body.id]).toEqual([
      200,
      matchedBy,
      created.body.id,
    ])
  }
})

test('keys of different contacts are a 409 with both ids', async () => {
  const [one, other] = [
    await put({ externalId: 'user_2', email: freshEmail() }),
    await put({ externalId: 'user_3', email: freshEmail() }),
  ]
  const response = await put({ externalId: 'user_2', email: other.body.email })
  expectError(response, 409, 'externalId and email belong to different contacts')
  expect(response.body).toMatchObject({ code: 'identity_conflict', contactIds: [one.body.id, other.body.id] })
})

test('a taken external id is a 409 that names the field', async () => {
  const owner = await put({ externalId: 'user_4', email: freshEmail() })
  const email = freshEmail()
  for (const response of [
    await call('POST', '/contacts', { externalId: 'user_4', email }),
    await call('PATCH', `/contacts/${(await put({ email: freshEmail() })).body.id}`, { externalId: 'user_4' }),
  ]) {
    expect(expectError(response, 409, 'Contact already exists').issues).toMatchObject([{ path: 'externalId' }])
    expect(response.body).toMatchObject({ code: 'already_exists', contactId: owner.body.id })
  }
  expectError(await put({ firstName: 'Ada' }), 400, 'email: is required')
})

test('If-Match of PUT compares the contact that either key finds', async () => {
  const { headers, body } = await put({ externalId: 'user_5', email: freshEmail() })
  const tag = { 'if-match': headers['etag'] ?? '' }
  expect((await put({ externalId: 'user_5', email: freshEmail() }, tag)).status).toBe(200)
  expectError(await put({ externalId: 'user_5', firstName: 'Ada' }, tag), 412)
  const other = await put({ externalId: 'user_6', email: freshEmail() })
  expectError(await put({ externalId: 'user_5', email: other.body.email }, { 'if-match': '*' }), 409)
  expect(body.externalId).toBe('user_5')
})

const readContact = (result?: Json) => Contact.parse(result?.['contact'])

test('each entry of a batch is matched by itself', async () => {
  const [one, other] = [freshEmail(), freshEmail()]
  const batch = async (contacts: Json[], onConflict: string) => {
    const response = await api.call<{ results: Json[] }>('POST', '/contacts/batch', {
      key: workspace.key,
      body: { contacts, onConflict },
    })
    return response.body.results
  }
  const entries = [
    { externalId: 'user_7', email: one },
    { externalId: 'user_8', email: one },
    { externalId: 'user_7', email: other },
    { externalId: 'user_8', email: one },
    { externalId: 'user_9' },
  ]
  const [created, conflict, moved, second, missing] = await batch(entries, 'update')
  expect(created).toMatchObject({ status: 'CREATED', contact: { email: one } })
  const { id } = readContact(created)
  expect(conflict).toMatchObject({ status: 'FAILED', code: 'identity_conflict', contactIds: [id] })
  expect(moved).toMatchObject({ status: 'UPDATED', contact: { id, email: other } })
  expect(second).toMatchObject({ status: 'CREATED', contact: { externalId: 'user_8', email: one } })
  expect(missing).toMatchObject({ status: 'FAILED', code: 'validation_error', issues: [{ path: 'email' }] })
  const [taken] = await batch([{ externalId: 'user_7', email: freshEmail() }], 'fail')
  expect(taken).toMatchObject({ code: 'already_exists', contactId: id, issues: [{ path: 'externalId' }] })
  const [skipped] = await batch([{ externalId: 'user_7', email: freshEmail() }], 'skip')
  expect(skipped).toMatchObject({ status: 'SKIPPED', contact: { id, email: other } })
})
