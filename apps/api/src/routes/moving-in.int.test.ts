import type { Import } from '@rapport/core/imports/imports.schema.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { anId, expectError, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
beforeEach(() => api.query('truncate imports, work, idempotency_records cascade'))

const send = (path: string, raw: string, headers: Record<string, string> = {}) =>
  api.call<Import>('POST', path, {
    key: workspace.key,
    raw,
    headers: { 'content-type': raw.startsWith('{') ? 'application/x-ndjson' : 'text/csv', ...headers },
  })
const query = (values: Record<string, string>) => `?${new URLSearchParams(values).toString()}`

test('POST /suppressions/import: an Import of its own kind, idempotent and audited', async () => {
  const headers = { 'idempotency-key': 'once' }
  const first = await send('/suppressions/import', 'ada@example.com\n', headers)
  expect(first).toMatchObject({ status: 202, body: { id: anId('imp'), kind: 'SUPPRESSIONS', status: 'QUEUED' } })
  expect(first.headers['location']).toBe(`/imports/${first.body.id}`)
  const again = await send('/suppressions/import', 'ada@example.com\n', headers)
  expect(again).toMatchObject({ headers: { 'idempotent-replayed': 'true' }, body: first.body })
  expect((await send('/suppressions/import', 'zoe@example.com\n', headers)).status).toBe(422)
  const { body } = await api.call('GET', '/audit-log?action=suppressions.imported', { key: workspace.key })
  expect(body['data']).toMatchObject([{ subjectId: first.body.id }])
  for (const path of ['/suppressions/import', '/contacts/import', '/suppressions/import', '/contacts/import'])
    expect((await send(path, 'email\n')).status).toBe(202)
  expectError(await send('/suppressions/import', 'email\n'), 409)
})

test.each([
  ['{"email":"ada@example.com"}', { source: 'resend' }, 'source', /must be absent with NDJSON/],
  ['{"email":"ada@example.com"}', { columns: '{"email":"email"}' }, 'columns', /must be absent with NDJSON/],
  ['email\n', { columns: 'email' }, 'columns', /must be a JSON object with a property or null/],
  ['email\n', { columns: '{"email":1}' }, 'columns', /must be a JSON object with a property or null/],
  ['email\n', { columns: '{"email":"mail"}' }, 'columns.email', /must be a property, a custom field or null/],
  ['email\n', { columns: '{"__proto__":"email"}' }, 'columns', /The file has no column/],
  ['email\n', { unknownColumns: 'drop' }, 'unknownColumns', /must be error or ignore/],
  ['email\n', { source: 'hubspot' }, 'source', /must be one of listmonk, mailchimp, brevo, resend/],
  ['email\n', { status: 'subscribed' }, 'status', /must be one of CONFIRMED, PENDING/],
])('a contacts file %j with %j is a 400 at %s', async (...[file, options, path, message]) => {
  const response = await send(`/contacts/import${query(options)}`, file)
  expectError(response, 400)
  expect(response.body).toMatchObject({ issues: [{ path, message: expect.stringMatching(message) }] })
})

test('a list needs consent, and an export that does not tell it needs a status', async () => {
  const { id: listId } = await api.create<List>('/lists', workspace.key, { name: 'News' })
  const mailchimp = '"Email Address",OPTIN_TIME,LEID\n'
  const post = (values: Record<string, string>) => send(`/contacts/import${query({ listId, ...values })}`, mailchimp)
  const source = 'mailchimp'
  expect(await post({ source })).toMatchObject({ status: 400, body: { issues: [{ path: 'consent' }] } })
  expect(await post({ source, consent: 'confirmed' })).toMatchObject({
    status: 400,
    body: { issues: [{ path: 'status', message: expect.stringContaining('is required') }] },
  })
  for (const values of [{ status: 'CONFIRMED', consent: 'confirmed' }, { status: 'NONE' }, { status: 'UNSUBSCRIBED' }])
    expect((await post({ source, ...values })).status).toBe(202)
})

test.each([
  ['a@example.com,b\n', /several columns but no header/],
  ['email,note\na@example.com,x\n', /Unknown columns: "note"/],
  ['name\nada\n', /Unknown columns: "name"/],
  ['reason\nBOUNCED\n', /The file has no column email/],
  ['', /The file is empty/],
])('a suppressions file %j is a 400', async (file, message) => {
  const response = await send('/suppressions/import', file)
  expectError(response, 400)
  expect(response.body).toMatchObject({ message: expect.stringMatching(message) })
})

test('a viewer may import neither', async () => {
  const { token: key } = await api.join(workspace, 'VIEWER')
  for (const path of ['/contacts/import', '/suppressions/import']) {
    const response = await api.call('POST', path, { key, raw: 'email\n', headers: { 'content-type': 'text/csv' } })
    expectError(response, 403)
  }
})
