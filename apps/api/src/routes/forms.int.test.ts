import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Form } from '@rapport/core/forms/forms.schema.ts'
import type { Submission } from '@rapport/core/forms/submissions.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { type ApiResponse, anId, aTimestamp, expectError, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

const text = { label: 'Message', type: 'TEXT' }
const email = { label: 'Email', type: 'EMAIL', mapsTo: 'email' }
const consent = { label: 'Send me the newsletter', type: 'CONSENT' }
const create = (body: object) =>
  api.call<Form>('POST', '/forms', { key: workspace.key, body: { name: 'Contact us', fields: [text], ...body } })
const make = (body: object = {}) =>
  api.create<Form>('/forms', workspace.key, { name: 'Contact us', fields: [text], ...body })
const change = (id: string, body: object) => api.call<Form>('PATCH', `/forms/${id}`, { key: workspace.key, body })
const read = (id: string) => api.call<Form>('GET', `/forms/${id}`, { key: workspace.key })
const remove = (path: string) => api.call('DELETE', path, { key: workspace.key })
const submit = (id: string, values: object) => api.call('POST', `/public/forms/${id}/submit`, { body: { values } })
const issuesOf = (response: ApiResponse<unknown>) => expectError(response, 400).issues?.map(({ path }) => path)

test('POST /forms, GET /forms/{id}: defaults, and field ids derived from the labels', async () => {
  const response = await create({
    name: ' Contact us ',
    fields: [
      { label: 'Your e-mail, please: the one you read', type: 'EMAIL', required: true, mapsTo: 'email' },
      { label: 'Größe', type: 'SELECT', options: ['S', 'L'] },
      { label: '名前', type: 'TEXT' },
      { label: '123', type: 'TEXT' },
      { id: 'field-3', label: 'Given', type: 'TEXT' },
      { label: '???', type: 'TEXT' },
      consent,
      consent,
    ],
  })
  expect(response).toMatchObject({ status: 201, headers: { location: `/forms/${response.body.id}` } })
  expect(response.body).toEqual({
    id: anId('frm'),
    name: 'Contact us',
    fields: expect.any(Array),
    listId: null,
    tags: [],
    successMessage: 'Thank you.',
    redirectUrl: null,
    enabled: true,
    locale: null,
    spamCount: 0,
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  })
  expect(response.body.fields[0]).toEqual({
    id: 'your-e-mail-please',
    label: 'Your e-mail, please: the one you read',
    type: 'EMAIL',
    required: true,
    mapsTo: 'email',
  })
  expect(response.body.fields.map(({ id }) => id).slice(1)).toEqual([
    'gro-e',
    'field',
    'field-2',
    'field-3',
    'field-4',
    'consent',
    'consent-2',
  ])
  expect((await read(response.body.id)).body).toEqual(response.body)
})

const badForms: [string, object, string?][] = [
  ['name', { name: '' }],
  ['name', { name: 'x'.repeat(201) }],
  ['name', { name: 'a\r\nb' }],
  ['fields', { fields: [] }],
  ['fields', { fields: Array.from({ length: 101 }, () => text) }],
  ['fields', { fields: { 0: text } }],
  ['fields.0.label', { fields: [{ ...text, label: ' ' }] }],
  ['fields.0.label', { fields: [{ ...text, label: 'x'.repeat(2_001) }] }],
  ['fields.0.type', { fields: [{ ...text, type: 'FILE' }] }],
  ['fields.0.type', { fields: [{ ...text, type: 'constructor' }] }],
  ['fields.0.required', { fields: [{ ...text, required: 'yes' }] }],
  ...['', '1a', '_website', '_version', '_key', 'a b', 'a"b', 'a>b', '__proto__', 'é', 'x'.repeat(65), 'a\n'].map(
    (id): [string, object] => ['fields.0.id', { fields: [{ ...text, id }] }],
  ),
  [
    'fields.1.id',
    {
      fields: [
        { ...text, id: 'a' },
        { ...text, id: 'a' },
      ],
    },
  ],
  ['fields.0.options', { fields: [{ ...text, options: ['a'] }] }],
  ['fields.0.options', { fields: [{ ...text, type: 'SELECT' }] }],
  ['fields.0.options', { fields: [{ ...text, type: 'SELECT', options: [] }] }],
  ['fields.0.options', { fields: [{ ...text, type: 'SELECT', options: ['a', 'a '] }] }],
  [
    'fields.0.options',
    { fields: [{ ...text, type: 'SELECT', options: Array.from({ length: 201 }, (_, n) => `o${n}`) }] },
  ],
  ['fields.0.options.1', { fields: [{ ...text, type: 'SELECT', options: ['a', ' '] }] }],
  ['fields.0.options.0', { fields: [{ ...text, type: 'SELECT', options: ['a\u001b'] }] }],
  ['fields.0.options.0', { fields: [{ ...text, type: 'SELECT', options: ['x'.repeat(201)] }] }],
  ...['constructor', '__proto__', 'toString', 'id', 'customFieldValues.nope', 'customFieldValues.constructor', ''].map(
    (mapsTo): [string, object] => ['fields.0.mapsTo', { fields: [{ ...text, mapsTo }] }],
  ),
  ['fields.0.script', { fields: [{ ...text, script: 'x' }] }],
  ['tags', { tags: Array.from({ length: 101 }, (_, n) => `t${n}`) }],
  ['successMessage', { successMessage: '' }],
  ['successMessage', { successMessage: 'x'.repeat(2_001) }],
  ['enabled', { enabled: 'no' }],
  ['spamCount', { spamCount: 5 }],
  ['id', { id: 'frm_01kag7m3v9e8fs2t4w6x8y0z1b' }],
  ['listId', { listId: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b', fields: [email, consent] }],
  ['listId', { listId: 'nope', fields: [email, consent] }],
]
test.each(badForms)('rejects a form with an invalid %s: %j', async (path, body) => {
  expect(issuesOf(await create(body))).toContain(path)
  const { id } = await make()
  expect(issuesOf(await change(id, body))).toContain(path)
})

const badAddresses = [
  'javascript:alert(1)',
  ' JavaScript:alert(1)',
  'data:text/html,x',
  'ftp://example.com',
  '//example.com',
  'http:evil',
  'https:/evil.example',
  '/thanks',
  'example.com',
  '',
  'https://',
  'https://user:pw@example.com',
  'https://user@example.com',
  'https://good.example@evil.example',
  'https://x.example;script-src%20*/',
  'https://x.example;sandbox/',
  'https://x.example,evil/',
  "https://x'y.example",
  'https://x.example/\r\nSet-Cookie: a=b',
  'https://x.example/\u0000',
  'https://exa mple.com',
  'https://example..com',
  `https://example.com/${'x'.repeat(2_040)}`,
]
test.each(badAddresses)('rejects the redirectUrl %j', async (redirectUrl) => {
  expect(issuesOf(await create({ redirectUrl }))).toEqual(['redirectUrl'])
})

test.each([
  'https://example.com',
  'http://localhost:3000/thanks?a=b&c=d#e',
  'https://exämple.com/danke schön/日本;"\'<>',
  'https://x.example/;%20script-src%20*',
  'https://[::1]:8443/x',
])('accepts the redirectUrl %s and stores it unchanged', async (redirectUrl) => {
  expect(await make({ redirectUrl })).toMatchObject({ redirectUrl })
})

test('a form with a list always needs a consent field and an email field', async () => {
  const list = await api.create('/lists', workspace.key, { name: 'Newsletter' })
  for (const fields of [[email], [consent], [text]]) {
    expect(issuesOf(await create({ listId: list['id'], fields }))).toEqual(['listId'])
  }
  const form = await make({ listId: list['id'], fields: [email, consent] })
  expect(issuesOf(await change(form.id, { fields: [email] }))).toEqual(['listId'])
  expect(await change(form.id, { fields: [email], listId: null })).toMatchObject({
    status: 200,
    body: { listId: null },
  })
  expect(issuesOf(await change(form.id, { listId: list['id'] }))).toEqual(['listId'])
})

test('PATCH /forms/{id}: sets the given fields; a no-op changes nothing', async () => {
  const form = await make({ tags: ['a'] })
  for (const body of [{}, { name: 'Contact us' }, { fields: form.fields }]) {
    expect(await change(form.id, body)).toMatchObject({ status: 200, body: form })
  }
  const { body } = await change(form.id, { name: 'New', enabled: false })
  expect(body).toEqual({ ...form, name: 'New', enabled: false, updatedAt: aTimestamp })
  expect(body.updatedAt > form.updatedAt).toBe(true)
  expect((await read(form.id)).body).toEqual(body)
})

test('concurrent updates are atomic and lose no spam count', async () => {
  const form = await make()
  const names = Array.from({ length: 20 }, (_, n) => `Name ${n}`)
  await Promise.all(names.flatMap((name) => [change(form.id, { name }), submit(form.id, { _website: 'x' })]))
  const { body } = await read(form.id)
  expect(names).toContain(body.name)
  expect(body.spamCount).toBe(20)
})

test('GET and DELETE /forms/{id}/submissions/{submissionId}: the contact is kept', async () => {
  const form = await make({ fields: [{ ...email, id: 'email' }] })
  for (let n = 0; n < 5; n++) await submit(form.id, { email: `person${n}@submissions.example` })
  const list = (query = '') =>
    api.call<{ data: Submission[]; nextCursor: string | null }>('GET', `/forms/${form.id}/submissions?${query}`, {
      key: workspace.key,
    })
  const all = (await list()).body.data
  expect(all.map(({ values }) => values['email'])).toEqual([4, 3, 2, 1, 0].map((n) => `person${n}@submissions.example`))
  const first = (await list('limit=2')).body
  const second = (await list(`limit=3&cursor=${first.nextCursor}`)).body
  expect([...first.data, ...second.data]).toEqual(all)
  expect((await list('sort=createdAt')).body.data).toEqual(all.toReversed())
  const other = await make()
  expectError(
    await api.call('GET', `/forms/${other.id}/submissions?cursor=${first.nextCursor}`, { key: workspace.key }),
    400,
    'Invalid cursor',
  )
  const [newest] = all
  const path = `/forms/${form.id}/submissions/${newest?.id}`
  expect((await api.call('GET', path, { key: workspace.key })).body).toEqual(newest)
  // A submission belongs to one form.
  const elsewhere = `/forms/${other.id}/submissions/${newest?.id}`
  expectError(await api.call('GET', elsewhere, { key: workspace.key }), 404, 'Submission not found')
  expectError(await remove(elsewhere), 404, 'Submission not found')
  expect(await remove(path)).toMatchObject({ status: 204, text: '' })
  expectError(await remove(path), 404, 'Submission not found')
  expect((await list()).body.data).toEqual(all.slice(1))
  expect(await api.call('GET', `/contacts/${newest?.contactId}`, { key: workspace.key })).toMatchObject({ status: 200 })
})

test('DELETE /forms/{id}: deletes its submissions and keeps its contacts', async () => {
  const form = await make({ fields: [{ ...email, id: 'email' }] })
  const { body } = await submit(form.id, { email: 'stays@example.com' })
  expect(await remove(`/forms/${form.id}`)).toMatchObject({ status: 204, text: '' })
  for (const path of [
    `/forms/${form.id}`,
    `/forms/${form.id}/submissions`,
    `/forms/${form.id}/submissions/${String(body['submissionId'])}`,
  ]) {
    expectError(await api.call('GET', path, { key: workspace.key }), 404, 'Form not found')
  }
  expectError(await remove(`/forms/${form.id}`), 404, 'Form not found')
  expectError(await change(form.id, { name: 'x' }), 404, 'Form not found')
  const { body: found } = await api.call<{ data: object[] }>('GET', '/contacts?email=stays@example.com', {
    key: workspace.key,
  })
  expect(found.data).toHaveLength(1)
})

test('deleting a workspace deletes all of its records', async () => {
  const other = await api.signUp()
  const list = await api.create('/lists', other.key, { name: 'Newsletter' })
  const form = await api.create<Form>('/forms', other.key, {
    name: 'Form',
    listId: list['id'],
    fields: [
      { ...email, id: 'email' },
      { ...consent, id: 'yes' },
    ],
  })
  await submit(form.id, { email: 'all@example.com', yes: true })
  await api.create('/campaigns', other.key, { name: 'a', subject: 'b', listId: list['id'] })
  const [row] = await api.query('delete from workspaces where id = $1 returning id', [
    uuidOf(Id('wsp').parse(other.id)),
  ])
  for (const table of [
    'lists',
    'forms',
    'form_submissions',
    'contacts',
    'subscriptions',
    'campaigns',
    'events',
    'work',
  ]) {
    expect([table, await api.query(`select from ${table} where workspace_id = $1`, [row?.['id']])]).toEqual([table, []])
  }
  expectError(await submit(form.id, { email: 'all@example.com' }), 404, 'Form not found')
})
