import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { expectError, freshEmail, type Json, startTestApi, type TestWorkspace } from '../testing.ts'

const api = useForFile(() => startTestApi())
let workspace: TestWorkspace
beforeEach(async () => {
  workspace = await api.signUp()
})

const call = (method: string, path: string, body?: Json) =>
  api.call(method, path, { key: workspace.token, ...(body && { body }) })

const content = {
  name: 'Reset',
  subject: 'Your password',
  html: '<p><a href="{{ data.resetUrl }}">Reset</a></p>',
  variables: [
    { name: 'resetUrl', type: 'URL', example: 'https://shop.example/reset/x' },
    { name: 'count', type: 'NUMBER', required: false, example: 3 },
  ],
  ground: 'SECURITY',
}
const createTemplate = async (changes: Json = {}) =>
  String((await api.create('/templates', workspace.token, { ...content, ...changes }))['id'])
const data = { resetUrl: 'https://shop.example/reset/planted-link' }

test('POST and GET /templates, GET, PATCH and DELETE /templates/{id}: versions', async () => {
  const created = await call('POST', '/templates', content)
  const id = String(created.body['id'])
  expect(created).toMatchObject({ status: 201, body: { version: 1, status: 'ACTIVE', text: null } })
  expect(created.body['variables']).toMatchObject([{ required: true }, { required: false }])
  expect((await call('GET', `/templates/${id}`)).body).toEqual(created.body)
  const { html: _, text: __, ...summary } = created.body
  expect((await call('GET', '/templates?search=rese')).body).toMatchObject({ data: [summary] })
  expect((await call('PATCH', `/templates/${id}`, { subject: 'Your password' })).body).toEqual(created.body)
  expect((await call('PATCH', `/templates/${id}`, { subject: 'Another' })).body).toMatchObject({ version: 2 })
  expect((await call('PATCH', `/templates/${id}`, { status: 'PAUSED' })).body).toMatchObject({ version: 2 })
  expectError(await call('POST', '/emails', { templateId: id, to: { email: freshEmail() }, data }), 409)
  expect((await call('DELETE', `/templates/${id}`)).status).toBe(204)
  expectError(await call('GET', `/templates/${id}`), 404, 'Template not found')
  const { body: log } = await call('GET', '/audit-log?action=template.created')
  expect(log).toMatchObject({ data: [{ subjectId: id, details: { ground: 'SECURITY' } }] })
})

test('a template of the maximum length is accepted, also with JSON escapes', async () => {
  const escaped = '\\u044f'.repeat(262_144)
  const longest = { ...content, html: 'HTML', text: 'TEXT' }
  const raw = JSON.stringify(longest).replace('HTML', escaped).replace('TEXT', escaped)
  const created = await api.call('POST', '/templates', { key: workspace.token, raw })
  expect([created.status, created.body['html']]).toEqual([201, 'я'.repeat(262_144)])
  const path = `/templates/${String(created.body['id'])}`
  const changed = await api.call('PATCH', path, { key: workspace.token, raw })
  expect([changed.status, changed.body['version']]).toEqual([200, 1])
})

test('a template that names what is not declared is a 400 with line and column', async () => {
  const response = await call('POST', '/templates', { ...content, html: '{{ data.resetURL }}{{ campaign.name }}' })
  expectError(response, 400)
  expect(response.body['issues']).toMatchObject([
    { path: 'html', message: expect.stringMatching(/"data.resetURL" at line 1.*did you mean "data.resetUrl"/) },
    { path: 'html', message: expect.stringMatching(/"campaign.name" at line 1/) },
  ])
  const wrong = await call('POST', '/templates', {
    ...content,
    variables: [{ name: 'n', type: 'NUMBER', example: 'x' }],
  })
  expect(wrong.body['issues']).toEqual([{ path: 'variables.0.example', message: 'must be a number' }])
})

test('only an ADMIN writes templates, a MEMBER sends emails', async () => {
  const id = await createTemplate()
  const member = await api.issueKey(workspace.token, 'MEMBER')
  expectError(await api.call('POST', '/templates', { key: member, body: content }), 403)
  expectError(await api.call('PATCH', `/templates/${id}`, { key: member, body: { name: 'x' } }), 403)
  const body = { templateId: id, to: { email: freshEmail() }, data }
  expect((await api.call('POST', '/emails', { key: member, body })).status).toBe(202)
})

test('POST /templates/{id}/preview: examples, or the values and a contact', async () => {
  const id = await createTemplate({ subject: '{{ contact.firstName }} {{ data.count }}' })
  expect((await call('POST', `/templates/${id}/preview`)).body).toMatchObject({
    subject: 'Ada 3',
    html: expect.stringContaining('https://shop.example/reset/x'),
    text: expect.stringContaining('because it concerns the security of your account'),
  })
  const { id: contactId } = await api.create<{ id: string }>('/contacts', workspace.token, {
    email: freshEmail(),
    firstName: 'Grace',
  })
  const own = await call('POST', `/templates/${id}/preview`, { contactId, data: { ...data, count: 4 } })
  expect(own.body).toMatchObject({ subject: 'Grace 4' })
  const missing = await call('POST', `/templates/${id}/preview`, { data: {} })
  expect(missing.body['issues']).toEqual([{ path: 'data.resetUrl', message: 'is required' }])
})

test('POST /emails, GET /emails, GET /emails/{id}: no subject, body or data', async () => {
  const templateId = await createTemplate()
  const email = freshEmail()
  const created = await call('POST', '/emails', { templateId, to: { email, firstName: 'Ada' }, data, tags: ['reset'] })
  const { id, contactId } = created.body
  expect([created.status, created.headers['location']]).toEqual([202, `/emails/${String(id)}`])
  expect(created.body).toMatchObject({ status: 'PENDING', templateVersion: 1, ground: 'SECURITY', tags: ['reset'] })
  expect(created.text).not.toContain('planted-link')
  expect((await call('GET', `/emails/${String(id)}`)).body).toEqual(created.body)
  const filters = [`contactId=${String(contactId)}`, 'tag=reset', 'status=PENDING', `templateId=${templateId}`]
  const listed = await call('GET', `/emails?${filters.join('&')}`)
  expect(listed.body).toMatchObject({ data: [created.body] })
  expect((await call('GET', '/emails?tag=other')).body).toMatchObject({ data: [] })
  expect((await call('GET', `/contacts/${String(contactId)}`)).body).toMatchObject({
    firstName: 'Ada',
    source: 'email:Reset',
  })
  const exported = await call('GET', `/contacts/${String(contactId)}/export`)
  expect(exported.body['templateEmails']).toMatchObject([{ id, ground: 'SECURITY', templateVersion: 1 }])
  expect((await call('DELETE', `/templates/${templateId}`)).body).toMatchObject({ code: 'in_use' })
})

test.each<[wrong: string, changes: Json, path: string]>([
  ['missing', { data: {} }, 'data.resetUrl'],
  ['unknown', { data: { ...data, other: 1 } }, 'data.other'],
  ['ill-typed', { data: { ...data, count: '4' } }, 'data.count'],
  ['dangerous', { data: { resetUrl: 'javascript:alert(1)' } }, 'data.resetUrl'],
  ['multi-line', { data: { resetUrl: 'https://shop.example/reset\n/x' } }, 'data.resetUrl'],
  ['spaced', { data: { resetUrl: 'https://shop.example/reset /x' } }, 'data.resetUrl'],
  ['unknown template', { templateId: 'tpl_01kag7m3v9e8fs2t4w6x8y0z1b' }, 'templateId'],
  ['unknown contact', { to: { contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b' } }, 'to.contactId'],
  ['unknown externalId', { to: { externalId: 'user_unknown' } }, 'to.externalId'],
])('a %s value is a 400 that names it', async (_wrong, changes, path) => {
  const templateId = await createTemplate()
  const response = await call('POST', '/emails', { templateId, to: { email: freshEmail() }, data, ...changes })
  expectError(response, 400)
  expect(response.body['issues']).toMatchObject([{ path }])
})

test.each<[string, Json]>([
  ['no key', {}],
  ['two keys', { email: 'ada@example.com', externalId: 'user_1' }],
])('a recipient with %s is a 400 that names the three', async (_case, to) => {
  const response = await call('POST', '/emails', { templateId: await createTemplate(), to, data })
  const message = 'must be an object with exactly one of contactId, externalId and email'
  expect(expectError(response, 400).issues).toEqual([{ path: 'to', message }])
})

test('the template of another workspace is unknown', async () => {
  const templateId = await createTemplate()
  workspace = await api.signUp()
  const response = await call('POST', '/emails', { templateId, to: { email: freshEmail() }, data })
  expectError(response, 400)
  expect(response.body['issues']).toEqual([{ path: 'templateId', message: 'Template not found' }])
})

test('100 requests with one key are one email', async () => {
  const body = { templateId: await createTemplate(), to: { email: freshEmail() }, data }
  const send = () =>
    api.call('POST', '/emails', { key: workspace.token, body, headers: { 'idempotency-key': 'order-4711' } })
  const responses = await Promise.all(Array.from({ length: 100 }, send))
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([202, 409]))
  const ids = responses.flatMap(({ status, body }) => (status === 202 ? [body['id']] : []))
  expect(new Set(ids).size).toBe(1)
  expect((await call('GET', '/emails')).body['data']).toHaveLength(1)
})

test('POST /emails/batch: each entry is accepted or fails by itself', async () => {
  const templateId = await createTemplate()
  const blocked = freshEmail()
  await api.create('/suppressions', workspace.token, { email: blocked, reason: 'MANUAL' })
  const to = { email: freshEmail() }
  const emails = [{ templateId, to, data }, { templateId, to }, { to: 1 }, { templateId, to: { email: blocked }, data }]
  const { status, body } = await call('POST', '/emails/batch', { emails })
  expect([status, body['results']]).toMatchObject([
    200,
    [
      { status: 'ACCEPTED', email: { status: 'PENDING' } },
      { status: 'FAILED', code: 'validation_error', issues: [{ path: 'data.resetUrl' }] },
      { status: 'FAILED', code: 'validation_error' },
      { status: 'FAILED', code: 'opted_out' },
    ],
  ])
  expect((await call('GET', '/emails')).body['data']).toHaveLength(1)
  expect((await call('GET', `/contacts?email=${encodeURIComponent(blocked)}`)).body['data']).toEqual([])
})

test('a batch of 100 emails with 12 KiB of values each is accepted', async () => {
  const variables = [{ name: 'order', type: 'TEXT', example: '1 shirt' }]
  const templateId = await createTemplate({ html: '{{ data.order }}', variables })
  const emails = Array.from({ length: 100 }, () => ({
    templateId,
    to: { email: freshEmail() },
    data: { order: 'x'.repeat(12_288) },
  }))
  const { status, body } = await call('POST', '/emails/batch', { emails })
  const statuses = (body['results'] as Json[]).map((result) => result['status'])
  expect([status, new Set(statuses)]).toEqual([200, new Set(['ACCEPTED'])])
})

test('POST /emails, POST /emails/batch: an empty tag is none, and a double one is one', async () => {
  const email = { templateId: await createTemplate(), to: { email: freshEmail() }, data, tags: ['', 'a', 'a'] }
  expect(await call('POST', '/emails', email)).toMatchObject({ status: 202, body: { tags: ['a'] } })
  const batch = await call('POST', '/emails/batch', { emails: [email, { ...email, tags: [''] }] })
  expect(batch.body['results']).toMatchObject([{ email: { tags: ['a'] } }, { email: { tags: [] } }])
  const five = ['a', 'b', 'c', 'd', 'e']
  const accepted = { status: 202, body: { tags: five } }
  expect(await call('POST', '/emails', { ...email, tags: ['', ...five, 'a'] })).toMatchObject(accepted)
  for (const tags of [[...five, 'f'], Array.from({ length: 51 }, () => 'a')]) {
    const tooMany = await call('POST', '/emails', { ...email, tags })
    expect(expectError(tooMany, 400).issues).toEqual([{ path: 'tags', message: 'must have at most 5 tags' }])
  }
})

test.each([
  ['MANUAL', { status: 409, body: { code: 'opted_out', reason: 'MANUAL' } }],
  ['BOUNCED', { status: 409, body: { code: 'opted_out', reason: 'BOUNCED' } }],
  ['OPTED_OUT', { status: 202 }],
])('an address with %s', async (reason, expected) => {
  const email = freshEmail()
  await api.create('/suppressions', workspace.token, { email, reason })
  const response = await call('POST', '/emails', { templateId: await createTemplate(), to: { email }, data })
  expect(response).toMatchObject(expected)
})

test.each(['emails', 'emailsPerAddress', 'emailsPending'] as const)(
  '%s is a quota, exact to the last',
  async (name) => {
    await setQuotas(api.ctx(workspace.id), { [name]: 2 })
    const [templateId, email] = [await createTemplate(), freshEmail()]
    const send = () => call('POST', '/emails', { templateId, to: { email }, data })
    const responses = await Promise.all([send(), send(), send(), send()])
    expect(responses.filter(({ status }) => status === 202)).toHaveLength(2)
    const refused = responses.find(({ status }) => status === 409)
    expect(refused?.body).toMatchObject({ code: 'quota_exceeded', quota: name, limit: 2 })
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0)
  },
)
