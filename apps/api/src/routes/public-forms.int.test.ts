import type { Form, PublicForm } from '@rapport/core/forms/forms.schema.ts'
import type { SubmitResult } from '@rapport/core/forms/submissions.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import {
  type ApiResponse,
  anId,
  type Call,
  countStatuses,
  expectError,
  freshEmail,
  startTestApi,
} from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let form: Form
beforeEach(async () => {
  form = await api.create<Form>('/forms', workspace.key, { name: 'Contact us', fields, tags: ['inside'] })
})

const fields = [
  { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
  { id: 'name', label: 'Name', type: 'TEXT', mapsTo: 'firstName' },
  { id: 'message', label: 'Message', type: 'TEXTAREA' },
  { id: 'size', label: 'Size', type: 'SELECT', options: ['S', 'L'] },
  { id: 'age', label: 'Age', type: 'NUMBER' },
  { id: 'constructor', label: 'Builder', type: 'TEXT' },
  { id: 'news', label: 'Send me the newsletter', type: 'CONSENT' },
]
const read = (headers: Record<string, string> = {}, id = form.id) =>
  api.call<PublicForm>('GET', `/public/forms/${id}`, { headers })
const submit = (values: unknown, call: Call = {}, id = form.id) =>
  api.call<SubmitResult>('POST', `/public/forms/${id}/submit`, { body: { values }, ...call })
const change = (body: object) => api.call('PATCH', `/forms/${form.id}`, { key: workspace.key, body })
const countSubmissions = async () =>
  Number(
    (
      await api.query(
        `select count(*) from form_submissions s
         join forms f on f.workspace_id = s.workspace_id and f.id = form_id where f.name = 'Contact us'`,
      )
    )[0]?.['count'],
  )

test('GET /public/forms/{id}: the fields of the form, but no internals', async () => {
  const { status, body, text } = await read()
  expect(status).toBe(200)
  expect(body).toEqual({
    id: form.id,
    name: 'Contact us',
    fields: fields.map(({ mapsTo, ...field }) => ({
      required: false,
      ...field,
      ...(mapsTo && { autocomplete: mapsTo === 'email' ? 'email' : 'given-name' }),
    })),
    successMessage: 'Thank you.',
    redirectUrl: null,
    asksByEmail: false,
    accentColor: null,
    locale: null,
  })
  expect(text).not.toMatch(/mapsTo|inside|wsp_|listId|enabled|spam/)
})

test('a matching If-None-Match in any form returns 304; HEAD has the same headers', async () => {
  const { headers, text } = await read()
  const etag = headers['etag'] ?? ''
  expect(headers).toMatchObject({
    etag: expect.stringMatching(/^"[\w-]{22}"$/),
    'cache-control': 'public, no-cache',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
  })
  const changedByProxy = [etag.replace(/"$/, '-gzip"'), `W/${etag.replace(/"$/, ';br"')}`]
  for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, `"x",W/${etag}`, '*', ...changedByProxy]) {
    const response = await read({ 'if-none-match': tag })
    expect([tag, response.status, response.text, response.headers['etag']]).toEqual([tag, 304, '', etag])
  }
  for (const tag of ['"x"', etag.replaceAll('"', ''), '', `${etag}x`]) {
    expect([tag, (await read({ 'if-none-match': tag })).status]).toEqual([tag, 200])
  }
  const head = await api.call('HEAD', `/public/forms/${form.id}`)
  expect(head).toMatchObject({ status: 200, text: '', headers: { etag, 'content-length': headers['content-length'] } })
})

test('a visible change is served immediately with a new ETag; others keep the ETag', async () => {
  const before = await read()
  await change({ tags: ['more'], listId: null })
  expect((await read()).headers['etag']).toBe(before.headers['etag'])
  await change({ name: 'New' })
  const after = await read()
  expect(after.body.name).toBe('New')
  expect(after.headers['etag']).not.toBe(before.headers['etag'])
  await change({ name: 'Contact us' })
  expect((await read()).headers['etag']).toBe(before.headers['etag'])
})

test('disabled, deleted and unknown forms get the same 404 on every public route', async () => {
  const calls: [string, string, Call][] = [
    ['GET', `/public/forms/ID`, {}],
    ['POST', `/public/forms/ID/submit`, { body: { values: { email: 'a@example.com' } } }],
    ['GET', `/f/ID`, {}],
    ['GET', `/f/ID/thanks`, {}],
    ['POST', `/f/ID`, { raw: 'email=a', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
  ]
  const ask = (id: string) =>
    Promise.all(
      calls.map(async ([method, path, call]) =>
        expectError(await api.call(method, path.replace('ID', id), call), 404, 'Form not found'),
      ),
    )
  await read()
  await change({ enabled: false })
  await ask(form.id)
  await change({ enabled: true })
  expect((await read()).status).toBe(200)
  await api.call('DELETE', `/forms/${form.id}`, { key: workspace.key })
  await ask(form.id)
  for (const id of ['frm_01kag7m3v9e8fs2t4w6x8y0z1b', 'nope', '%00', workspace.id, 'frm_', 'a'.repeat(5_000)])
    await ask(id)
})

test('POST /public/forms/{id}/submit: the same for new and known contacts and spam', async () => {
  const known = freshEmail()
  await api.create('/contacts', workspace.key, { email: known })
  const responses = [
    await submit({ email: freshEmail() }),
    await submit({ email: known }),
    await submit({ email: known, _website: 'https://spam.example' }),
  ]
  for (const response of responses) {
    expect(response.status).toBe(201)
    expect(response.body).toEqual({ success: true, submissionId: anId('sub') })
    const { date: _, 'x-request-id': __, ...headers } = response.headers
    const { date: ___, 'x-request-id': ____, ...first } = (responses[0] as ApiResponse<unknown>).headers
    expect(headers).toEqual(first)
  }
  expect(await countSubmissions()).toBe(2)
})

test('with If-Match, a submission for an older version of the form returns 412', async () => {
  const etag = (await read()).headers['etag'] ?? ''
  const values = { email: freshEmail() }
  expect((await submit(values, { headers: { 'if-match': etag } })).status).toBe(201)
  const before = await countSubmissions()
  await change({ fields: [...fields, { label: 'More', type: 'TEXT' }] })
  for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '"x"', '""', etag.replace(/"$/, '-gzip"')]) {
    const refused = await submit(values, { headers: { 'if-match': tag } })
    expect([tag, refused.status]).toEqual([tag, 412])
    expectError(refused, 412, 'This form has changed. Please review your answers and submit again.')
  }
  const malformed = await submit(values, { headers: { 'if-match': 'x' } })
  expectError(malformed, 400, 'If-Match: must be "*" or a list of ETags in double quotes')
  expect(await countSubmissions()).toBe(before)
  const now = (await read()).headers['etag'] ?? ''
  for (const tag of [
    now,
    `W/${now}`,
    `${etag}, ${now}`,
    '*',
    now.replace(/"$/, '--gzip"'),
    now.replace(/"$/, ';br"'),
  ]) {
    expect([tag, (await submit(values, { headers: { 'if-match': tag } })).status]).toEqual([tag, 201])
  }
})

test('with an Idempotency-Key, repeated and concurrent requests make one submission', async () => {
  const headers = { 'idempotency-key': 'a key of the browser' }
  const before = await countSubmissions()
  const values = { email: freshEmail(), age: 5 }
  const responses = await Promise.all(Array.from({ length: 50 }, () => submit(values, { headers })))
  expect(countStatuses(responses)).toEqual({ 201: 50 })
  expect(new Set(responses.map(({ body }) => body.submissionId)).size).toBe(1)
  expect(await countSubmissions()).toBe(before + 1)
  expect((await submit({ ...values, age: 6 }, { headers })).body).not.toEqual(responses[0]?.body)
  for (const key of ['', 'x'.repeat(256), 'é']) {
    expectError(await submit(values, { headers: { 'idempotency-key': key } }), 400)
  }
})

const strange: [unknown, string][] = [
  [{ email: 'invalid' }, 'email'],
  [{ email: ['ada@example.com'] }, 'email'],
  [{ email: { $ne: 1 } }, 'email'],
  [{ email: 'ada@example.com\r\nBcc: eve@example.com' }, 'email'],
  [{ email: 'a@example.com', name: 'x'.repeat(201) }, 'name'],
  [{ email: 'a@example.com', name: { toString: 'x' } }, 'name'],
  [{ email: 'a@example.com', message: 'x'.repeat(20_001) }, 'message'],
  [{ email: 'a@example.com', message: 'a\u001b[0m' }, 'message'],
  [{ email: 'a@example.com', size: 'XL' }, 'size'],
  [{ email: 'a@example.com', size: 'constructor' }, 'size'],
  [{ email: 'a@example.com', age: '5' }, 'age'],
  [{ email: 'a@example.com', news: 'on' }, 'news'],
  [{ email: 'a@example.com', other: 1 }, 'other'],
  [{ email: 'a@example.com', toString: 1 }, 'toString'],
  [{ email: 'a@example.com', _version: 'x' }, '_version'],
  [{ email: 'a@example.com', ['x'.repeat(900)]: 1 }, `${'x'.repeat(500)}…`],
  [{}, 'email'],
  [[], 'values'],
  [null, 'values'],
  ['text', 'values'],
  [undefined, 'values'],
]
test.each(strange)('rejects %j and names %s', async (values, path) => {
  const { issues } = expectError(await submit(values), 400)
  expect(issues?.map((issue) => issue.path)).toContain(path)
})

const rawBodies = [
  '{"values":{"email":"a@example.com","age":1e400}}',
  '{"values":{"email":"a@example.com","__proto__":{"a":1}}}',
  '{"values":{"email":"a@example.com","name":"\\u0000"}}',
  '{"values":{"email":"a@example.com","name":"\\ud800"}}',
  `{"values":{"email":"a@example.com","name":${'['.repeat(50)}${']'.repeat(50)}}}`,
  `{"values":{${Array.from({ length: 11_000 }, (_, n) => `"k${n}":1`).join()}}}`,
  '{"values":{"email":"a@example.com"},"formId":"x"}',
  '{"values":{"email":"a@example.com"}',
  '[]',
  '',
]
test('an invalid body is rejected and stores nothing', async () => {
  const before = await countSubmissions()
  for (const raw of rawBodies) expectError(await submit({}, { raw, body: undefined }), 400)
  expectError(await submit({}, { raw: `{"values":{"name":"${'x'.repeat(1_048_576)}"}}` }), 413)
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded']) {
    expectError(await submit({}, { raw: 'x', headers: { 'content-type': type } }), 415)
  }
  expect(await countSubmissions()).toBe(before)
})

test('values are stored unchanged', async () => {
  const values = {
    email: freshEmail(),
    name: `<script>alert(1)</script> {{7*7}} \${x} 👩‍👩‍👧 Robert'); drop table contacts;--`,
    message: `=HYPERLINK("https://evil.example")\n\tjavascript:alert(1) \u202e${'é'.repeat(16_000)}`,
    constructor: '__proto__',
    age: -1.5e-300,
  }
  const { body } = await submit(values)
  const kept = await api.call('GET', `/forms/${form.id}/submissions/${body.submissionId}`, { key: workspace.key })
  expect(kept.body['values']).toEqual(values)
})

test('accepts a form with 100 fields and 200 options', async () => {
  const options = Array.from({ length: 200 }, (_, n) => `${'o'.repeat(90)} ${n}`)
  const many = Array.from({ length: 100 }, (_, n) =>
    n === 0
      ? { id: `f${n}`, label: 'Choice', type: 'SELECT', options }
      : { id: `f${n}`, label: 'Text', type: 'TEXTAREA' },
  )
  const large = await api.create<Form>('/forms', workspace.key, { name: 'Large', fields: many })
  const values = Object.fromEntries(
    many.map(({ id, type }) => [id, type === 'SELECT' ? options[199] : 'x'.repeat(290)]),
  )
  const { status, body } = await submit(values, {}, large.id)
  expect(status).toBe(201)
  const kept = await api.call('GET', `/forms/${large.id}/submissions/${body.submissionId}`, { key: workspace.key })
  expect(kept.body['values']).toEqual(values)
  expectError(await submit({ ...values, more: 1 }, {}, large.id), 400)
})

test('changing and deleting a form during submissions causes only 404s', async () => {
  const submitting = Array.from({ length: 60 }, (_, n) => submit({ email: `racer${n % 7}@example.com` }))
  const changing = (async () => {
    await change({ name: 'Contact us', fields: fields.slice(0, 2) })
    await change({ enabled: false })
    await change({ enabled: true })
    await api.call('DELETE', `/forms/${form.id}`, { key: workspace.key })
  })()
  const responses = await Promise.all(submitting)
  await changing
  expect(Object.keys(countStatuses(responses)).filter((status) => status !== '201' && status !== '404')).toEqual([])
})

test('deleting a contact during its submissions causes no errors', async () => {
  const email = freshEmail()
  for (let round = 0; round < 5; round++) {
    const responses = await Promise.all([
      ...Array.from({ length: 5 }, () => submit({ email })),
      api.query('delete from contacts where email = $1', [email]).then(() => ({ status: 201 })),
      ...Array.from({ length: 5 }, () => submit({ email, name: 'Ada' })),
    ])
    expect(countStatuses(responses)).toEqual({ 201: 11 })
  }
})
