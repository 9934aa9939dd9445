/** Forms: one test for each route of the contract. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, type Json, startTestApi } from '../testing.ts'

type Form = Json & { id: string }

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { key: workspace.key, ...(body !== undefined && { body }) })
const listOf = async (path: string) => (await call('GET', path)).body['data']
const submit = (id: string, values: unknown, headers: Record<string, string> = {}) =>
  api.call('POST', `/public/forms/${id}/submit?utm_source=ad`, { body: { values }, headers })

const fields = [
  { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
  { id: 'name', label: 'Name', type: 'TEXT', required: false, mapsTo: 'firstName' },
  { id: 'news', label: 'Send me the newsletter', type: 'CONSENT', required: false },
]
let form: Form
let listId: string
beforeEach(async () => {
  listId = (await api.create<{ id: string }>('/lists', workspace.key, { name: 'Newsletter' })).id
  form = await api.create<Form>('/forms', workspace.key, { name: 'Contact us', fields, listId })
})

test('POST and GET /forms, GET, PATCH and DELETE /forms/{id}', async () => {
  expect(form).toMatchObject({
    id: anId('frm'),
    name: 'Contact us',
    listId,
    tags: [],
    successMessage: expect.any(String),
    redirectUrl: null,
    enabled: true,
    spamCount: 0,
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  })
  expect((await call('GET', `/forms/${form.id}`)).body).toEqual(form)
  expect(await listOf('/forms')).toContainEqual(form)
  const types = ['TEXT', 'TEXTAREA', 'EMAIL', 'PHONE', 'NUMBER', 'DATE', 'SELECT', 'CHECKBOX', 'CONSENT']
  const all = types.map((type) => ({ label: type, type, ...(type === 'SELECT' && { options: ['a', 'b'] }) }))
  const changed = await call('PATCH', `/forms/${form.id}`, { fields: all, listId: null })
  expect((changed.body['fields'] as Json[]).map(({ id, type }) => [typeof id, type])).toEqual(
    types.map((type) => ['string', type]),
  )
  expect((await call('DELETE', `/forms/${form.id}`)).status).toBe(204)
  expectError(await call('GET', `/forms/${form.id}`), 404)
})

test('GET /public/forms/{id}: nothing internal, cacheable; a disabled form is a 404', async () => {
  const path = `/public/forms/${form.id}?v=2`
  const shown = await api.call('GET', path)
  expect(Object.keys(shown.body).toSorted()).toEqual(['fields', 'id', 'name', 'redirectUrl', 'successMessage'])
  const { etag = '' } = shown.headers
  expect((await api.call('GET', path, { headers: { 'if-none-match': etag } })).status).toBe(304)
  await call('PATCH', `/forms/${form.id}`, { enabled: false })
  expectError(await api.call('GET', path), 404, 'Form not found')
})

test('POST /public/forms/{id}/submit: creates the contact and subscribes it', async () => {
  const email = freshEmail()
  const submitted = await submit(form.id, { email, name: 'Ada', news: true })
  expect(submitted).toMatchObject({ status: 201, body: { success: true, submissionId: anId('sub') } })
  expect(await listOf(`/contacts?email=${email}`)).toMatchObject([{ firstName: 'Ada', source: 'form:Contact us' }])
  expect(await listOf(`/lists/${listId}/subscribers`)).toMatchObject([{ status: 'PENDING' }])
  await submit(form.id, { email, name: 'Eve' })
  expect(await listOf(`/contacts?email=${email}`)).toMatchObject([{ firstName: 'Ada' }])
  const wrong = expectError(await submit(form.id, { email: 'x', other: 'y' }), 400)
  expect(wrong.issues?.map(({ path }) => path).toSorted()).toEqual(['email', 'other'])
  const headers = { 'idempotency-key': 'one' }
  const again = [await submit(form.id, { email }, headers), await submit(form.id, { email }, headers)]
  expect(again[1]?.text).toBe(again[0]?.text)
})

test('GET /forms/{id}/submissions: with a time range', async () => {
  const { submissionId } = (await submit(form.id, { email: freshEmail(), news: true })).body
  const path = `/forms/${form.id}/submissions/${String(submissionId)}`
  const submission = (await call('GET', path)).body
  expect(submission).toMatchObject({
    id: submissionId,
    formId: form.id,
    contactId: anId('con'),
    values: { news: true },
    consents: [{ fieldId: 'news', wording: 'Send me the newsletter' }],
    createdAt: aTimestamp,
  })
  expect(await listOf(`/forms/${form.id}/submissions?createdAfter=2026-01-01`)).toEqual([submission])
  expect(await listOf(`/forms/${form.id}/submissions?createdBefore=2026-01-01`)).toEqual([])
})

test('GET and DELETE /forms/{id}/submissions/{submissionId}', async () => {
  const { submissionId } = (await submit(form.id, { email: freshEmail() })).body
  const path = `/forms/${form.id}/submissions/${String(submissionId)}`
  expect((await call('GET', path)).body).toMatchObject({ id: submissionId })
  expect((await call('DELETE', path)).status).toBe(204)
  expectError(await call('GET', path), 404)
})

test('GET and POST /f/{id}, GET /f/{id}/thanks: the hosted form with branding', async () => {
  const branding = { name: 'Engines', logoUrl: 'https://example.com/logo.png', accentColor: '#1a4fd0' }
  await call('PATCH', '/workspace', branding)
  const page = await api.call('GET', `/f/${form.id}?fbclid=x`, { headers: { accept: 'text/html' } })
  expect(page.status).toBe(200)
  for (const text of ['Engines', 'https://example.com/logo.png', '#1a4fd0']) expect(page.text).toContain(text)
  const posted = await api.call('POST', `/f/${form.id}?fbclid=x`, {
    raw: new URLSearchParams({ email: freshEmail() }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
  })
  expect([posted.status, posted.headers['location']]).toEqual([303, `./${form.id}/thanks`])
  expect(await api.call('GET', `/f/${form.id}/thanks?utm_source=x`)).toMatchObject({ status: 200 })
})

test('GET /embed/form.js: one small script', async () => {
  const script = await api.call('GET', '/embed/form.js?v=2')
  expect(script.headers['content-type']).toMatch(/javascript/)
  expect(script.text).toContain('rapport-form')
})
