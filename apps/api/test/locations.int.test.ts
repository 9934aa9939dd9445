/** The `Location` of created records, and routes that need no body. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aFile, aForm } from './isolation-cases.ts'
import { aTemplate } from './isolation-campaigns.ts'
import { createParents, pathOf } from './listings.ts'
import { expectError, freshEmail, type Json, operationsOf, startTestApi } from './testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const fixture = useForFile(() => createParents(api, workspace))

/** For each route that creates a record, a request that succeeds. */
const creations: Record<string, (parents: Record<string, string>) => Json> = {
  '/api-keys': () => ({ name: 'Website' }),
  '/mail-hooks': () => ({ provider: 'mailgun', secret: 'key-0123456789abcdef' }),
  '/invites': () => ({ email: freshEmail(), role: 'VIEWER' }),
  '/contacts': () => ({ email: freshEmail() }),
  '/companies': () => ({ name: 'Acme' }),
  '/contacts/{contactId}/tasks': () => ({ title: 'Call' }),
  '/notes': ({ contacts }) => ({ body: 'Called', contactId: contacts }),
  '/custom-fields': () => ({ key: 'plan', label: 'Plan', type: 'TEXT' }),
  '/lists': () => ({ name: 'Newsletter' }),
  '/suppressions': () => ({ email: freshEmail(), reason: 'MANUAL' }),
  '/segments': () => ({ name: 'All', filter: { field: 'email', isSet: true } }),
  '/lists/{id}/subscribers': () => ({ email: freshEmail(), status: 'CONFIRMED' }),
  '/forms': () => aForm,
  '/campaigns': ({ lists }) => ({ name: 'November', subject: 'News', listId: lists }),
  '/templates': () => aTemplate,
  '/pipelines': () => ({ name: 'Sales', stages: [{ name: 'Lead' }] }),
  '/deals': ({ contacts, pipelines }) => ({ contactId: contacts, pipelineId: pipelines }),
  '/domains': () => ({ name: 'example.com' }),
  '/webhooks': () => ({ url: 'https://example.com', eventTypes: ['*'] }),
}

test('this file creates every kind of record', async () => {
  const { body } = await api.call<{
    paths: Record<string, { post?: { security?: unknown[]; responses: Record<string, object> } }>
  }>('GET', '/openapi.json')
  const creating = Object.entries(body.paths).filter(([, { post }]) => post?.security?.length && post.responses['201'])
  expect(creating.map(([template]) => template).toSorted()).toEqual(Object.keys(creations).toSorted())
})

test.each(Object.keys(creations))('the Location of POST %s is the path of the record', async (template) => {
  const { body: pipelines } = await api.call<{ data: { id: string }[] }>('GET', '/pipelines', { key: workspace.token })
  const parents = { ...fixture.parents, pipelines: pipelines.data[0]?.id ?? '' }
  const body = creations[template]?.(parents)
  const created = await api.call('POST', pathOf(template, fixture), { key: workspace.token, body })
  expect([template, created.status]).toEqual([template, 201])
  const read = await api.call('GET', created.headers['location'] ?? '', { key: workspace.token })
  expect(read.status).toBe(200)
  // Secrets are in the response of the creation only.
  expect(created.body).toMatchObject(read.body)
})

test('the Location of an import is the path of the import, that of a sign-up the user', async () => {
  const queued = await api.call('POST', '/contacts/import', { key: workspace.token, ...aFile })
  const read = await api.call('GET', queued.headers['location'] ?? '', { key: workspace.token })
  expect([queued.status, read.status, read.body]).toEqual([202, 200, queued.body])
  const account = { email: freshEmail(), password: workspace.password }
  const { headers, body } = await api.call('POST', '/auth/signup', { body: account })
  const me = await api.call('GET', headers['location'] ?? '', { key: String(body['token']) })
  expect(me.body['user']).toEqual(body['user'])
})

test('keys, invites, fields and members have the role of their listing', async () => {
  const member = await api.issueKey(workspace.token, 'MEMBER')
  for (const [listing, memberStatus] of [
    ['/api-keys', 403],
    ['/invites', 403],
    ['/custom-fields', 200],
    ['/members', 200],
  ] as const) {
    const { body } = await api.call<{ data: { id: string }[] }>('GET', listing, { key: workspace.token })
    const [record] = body.data
    const path = `${listing}/${record?.id}`
    expect(await api.call('GET', path, { key: workspace.token })).toMatchObject({ status: 200, body: record })
    expect((await api.call('GET', path, { key: member })).status).toBe(memberStatus)
    for (const wrong of [`${path}x`, `${listing}/null`, `${listing}/${fixture.parents['lists']}`]) {
      expectError(await api.call('GET', wrong, { key: workspace.token }), 404)
    }
  }
})

test('where no body is needed, an absent, an empty and an empty JSON body will do', async () => {
  const optional = (await operationsOf(api)).filter(({ method, isSecured, needsBody }) => {
    return method === 'POST' && isSecured && !needsBody
  })
  expect(optional.map(({ template }) => template).toSorted()).toEqual([
    '/auth/logout',
    '/auth/resend-verification',
    '/campaigns/{id}/cancel',
    '/campaigns/{id}/pause',
    '/campaigns/{id}/preview',
    '/campaigns/{id}/resume',
    '/campaigns/{id}/retry',
    '/campaigns/{id}/send',
    '/contacts/{id}/opt-out',
    '/domains/{id}/rotate-key',
    '/domains/{id}/verify',
    '/invites/{id}/resend',
    '/templates/{id}/preview',
    '/webhooks/{id}/deliveries/{deliveryId}/redeliver',
    '/webhooks/{id}/redeliver',
    '/webhooks/{id}/rotate-secret',
    '/webhooks/{id}/test',
  ])
  for (const { method, path, template } of optional) {
    const { token: key } = await api.signUp()
    const empty = { 'content-type': 'application/json', 'content-length': '0' }
    for (const body of [{}, { body: {} }, { headers: empty }]) {
      const { status } = await api.call(method, path, { key, ...body })
      // The records do not exist, the address was mailed within the last hour, and the session may have ended.
      expect(`${template} ${JSON.stringify(body)}: ${status}`).toMatch(/: (404|409|204|401)$/)
    }
    expectError(await api.call(method, path, { key: (await api.signUp()).token, body: { nope: 1 } }), 400)
  }
})
