import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi } from './testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

test('an unknown name is answered with the near name, at any depth and in queries', async () => {
  const { key } = workspace
  await api.create('/custom-fields', key, { key: 'plan', label: 'Plan', type: 'TEXT' })
  const email = freshEmail()
  const requests: [string, string, unknown, path: string, near: string][] = [
    ['POST', '/contacts', { email, first_name: 'Ada' }, 'first_name', 'firstName'],
    ['POST', '/contacts', { email, customFieldValues: { plam: 'pro' } }, 'customFieldValues.plam', 'plan'],
    ['PUT', '/contacts', { email, customFieldValues: { Plan: 'pro' } }, 'customFieldValues.Plan', 'plan'],
    ['POST', '/pipelines', { name: 'Sales', stages: [{ nmae: 'Lead' }] }, 'stages.0.nmae', 'name'],
    ['GET', '/contacts?cursr=x', undefined, 'cursr', 'cursor'],
    ['GET', '/contacts?tags=x', undefined, 'tags', 'tag'],
    ['GET', '/contacts?customField.plam=x', undefined, 'customField.plam', 'plan'],
    ['GET', '/lists?limt=5', undefined, 'limt', 'limit'],
    ['GET', '/contacts?emailSubscribedStatus=bounced', undefined, 'emailSubscribedStatus', 'BOUNCED'],
  ]
  for (const [method, url, body, path, near] of requests) {
    const response = expectError(await api.call(method, url, { key, body }), 400)
    const issue = response.issues?.find((issue) => issue.path === path)
    expect(`${method} ${url}: ${issue?.message}`).toMatch(new RegExp(`\\(did you mean "${near}"\\?\\)$`))
    expect(response.message).toMatch(/^[\w.]+: /)
  }
})

test('a paging parameter of other APIs is answered with the parameter to use', async () => {
  for (const [path, parameter, other] of [
    ['/contacts?page=2', 'page', 'cursor'],
    ['/contacts?per_page=5', 'per_page', 'limit'],
    ['/lists?offset=50', 'offset', 'cursor'],
  ] as const)
    expect(expectError(await api.call('GET', path, workspace), 400).issues).toEqual([
      { path: parameter, message: `unknown parameter (use "${other}")` },
    ])
})

test('an unknown or malformed event id says where to start', async () => {
  for (const after of ['evt_01kag7m3v9e8fs2t4w6x8y0z1b', 'latest'])
    expect(expectError(await api.call('GET', `/events?after=${after}`, workspace), 400).issues).toEqual([
      {
        path: 'after',
        message: expect.stringMatching(/^Event not found\. It may have been deleted.* GET \/events\?sort=createdAt$/),
      },
    ])
})

test('the read-only fields of a record that is sent back are named', async () => {
  const { key } = workspace
  const contact = await api.create('/contacts', key, { email: freshEmail() })
  const readOnly = ['id', 'emailSubscribedStatus', 'lastActivityAt', 'createdAt', 'updatedAt']
  const issues = readOnly.map((path) => ({ path, message: 'is read-only' }))
  for (const [method, path] of [
    ['PUT', '/contacts'],
    ['POST', '/contacts'],
    ['PATCH', `/contacts/${String(contact['id'])}`],
  ] as const)
    expect(expectError(await api.call(method, path, { key, body: contact }), 400)).toMatchObject({
      message: 'id: is read-only',
      issues,
    })
  const batch = await api.call('POST', '/contacts/batch', { key, body: { contacts: [contact] } })
  expect(batch.body).toEqual({
    results: [{ status: 'FAILED', code: 'validation_error', message: 'id: is read-only', issues }],
  })
  const login = { email: freshEmail(), password: 'x', token: 'x' }
  const { issues: unknown } = expectError(await api.call('POST', '/auth/login', { body: login }), 400)
  expect(unknown).toEqual([{ path: 'token', message: 'unknown field' }])
})
