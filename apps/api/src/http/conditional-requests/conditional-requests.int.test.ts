import { updateContact } from '@rapport/core/contacts/update-contact.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { fillWorkspace, type Ids } from '../../../test/isolation-cases.ts'
import {
  type Call,
  countStatuses,
  expectError,
  freshEmail,
  type Json,
  startTestApi,
  type TestWorkspace,
} from '../../../test/testing.ts'

const api = useForFile(() => startTestApi())
let workspace: TestWorkspace
let ids: Ids
/** The operations with If-Match. */
let supporting: string[]
beforeAll(async () => {
  workspace = await api.signUp()
  ids = await fillWorkspace(api, workspace)
  supporting = await operationsWith('If-Match')
})

const request = (method: string, path: string, call: Call = {}) =>
  api.call(method, path, { key: workspace.token, ...call })
const requestIfMatch = (method: string, path: string, call: { tag: string; body?: unknown }) =>
  request(method, path, { headers: { 'if-match': call.tag }, body: call.body })
const readTag = async (path: string) => (await request('GET', path)).headers['etag'] ?? 'no ETag'
const createContact = (body: Json = {}) =>
  api.create<{ id: string }>('/contacts', workspace.key, { email: freshEmail(), ...body })

/** The record of each URL, the body of a PATCH that changes it, and that of a DELETE. */
const records: Record<string, { path: (ids: Ids) => string; change?: Json; deletion?: Json }> = {
  '/workspace': { path: () => '/workspace', change: { name: 'Engines' }, deletion: { name: 'Engines' } },
  '/api-keys/{id}': { path: ({ apiKey }) => `/api-keys/${apiKey}` },
  '/mail-hooks/{id}': { path: ({ mailHook }) => `/mail-hooks/${mailHook}` },
  '/invites/{id}': { path: ({ invite }) => `/invites/${invite}` },
  '/members/{id}': { path: ({ member }) => `/members/${member}`, change: { role: 'MEMBER' } },
  '/custom-fields/{id}': { path: ({ customField }) => `/custom-fields/${customField}`, change: { label: 'Plan name' } },
  '/contacts/{id}': { path: ({ contact }) => `/contacts/${contact}`, change: { firstName: 'Ada' } },
  '/contacts/{id}/tracking-consent': { path: ({ contact }) => `/contacts/${contact}/tracking-consent` },
  '/companies/{id}': { path: ({ spareCompany }) => `/companies/${spareCompany}`, change: { name: 'Engines' } },
  '/imports/{id}': { path: (ids) => `/imports/${ids.import}` },
  '/forms/{id}': { path: ({ form }) => `/forms/${form}`, change: { name: 'Ask us' } },
  '/forms/{id}/submissions/{submissionId}': {
    path: ({ form, submission }) => `/forms/${form}/submissions/${submission}`,
  },
  '/suppressions/{id}': {
    path: ({ spareSuppression }) => `/suppressions/${spareSuppression}`,
    deletion: { note: 'Moved' },
  },
  '/segments/{id}': { path: ({ spareSegment }) => `/segments/${spareSegment}`, change: { name: 'All' } },
  '/lists/{id}': { path: ({ spareList }) => `/lists/${spareList}`, change: { name: 'News' } },
  '/lists/{id}/subscribers/{contactId}': { path: ({ list, contact }) => `/lists/${list}/subscribers/${contact}` },
  '/campaigns/{id}': { path: ({ draft }) => `/campaigns/${draft}`, change: { subject: 'News' } },
  '/templates/{id}': { path: ({ spareTemplate }) => `/templates/${spareTemplate}`, change: { name: 'Hello' } },
  '/emails/{id}': { path: ({ email }) => `/emails/${email}` },
  '/pipelines/{id}': { path: ({ emptyPipeline }) => `/pipelines/${emptyPipeline}`, change: { name: 'Renewals' } },
  '/deals/{id}': { path: ({ deal }) => `/deals/${deal}`, change: { valueCents: 5 } },
  '/tasks/{id}': { path: ({ task }) => `/tasks/${task}`, change: { title: 'Write' } },
  '/notes/{id}': { path: ({ note }) => `/notes/${note}`, change: { body: 'Wrote' } },
  '/webhooks/{id}': { path: ({ lastWebhook }) => `/webhooks/${lastWebhook}`, change: { enabled: false } },
  '/webhooks/{id}/deliveries/{deliveryId}': {
    path: ({ webhook, delivery }) => `/webhooks/${webhook}/deliveries/${delivery}`,
  },
  '/domains/{id}': {
    path: ({ spareDomain }) => `/domains/${spareDomain}`,
    change: { host: 'news.example.org' },
  },
  '/events/{id}': { path: ({ event }) => `/events/${event}` },
}

interface Documented {
  paths: Record<string, Record<string, { parameters?: { name: string }[]; security?: object[] }>>
}

/** The operations that document a request header. */
async function operationsWith(header: string) {
  const { body } = await api.call<Documented>('GET', '/openapi.json')
  return Object.entries(body.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { parameters = [] }]) => parameters.some(({ name }) => name === header))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )
}

test('every GET of a single record supports If-None-Match', async () => {
  const { body } = await api.call<Documented>('GET', '/openapi.json')
  const isRecord = ([path, { get }]: [string, Documented['paths'][string]]) =>
    (path.endsWith('}') || path === '/workspace' || path.endsWith('/tracking-consent')) && get?.security?.length
  const retrievals = Object.entries(body.paths)
    .filter(isRecord)
    .map(([path]) => `GET ${path}`)
  expect((await operationsWith('If-None-Match')).toSorted()).toEqual(retrievals.toSorted())
  expect(Object.keys(records).map((path) => `GET ${path}`)).toEqual(expect.arrayContaining(retrievals))
})

describe.each(Object.entries(records))('%s', (template, { path: toPath, change, deletion }) => {
  // The same code reads the headers of all routes.
  const isWhole = isFullRun || template === '/companies/{id}'
  beforeAll(async () => {
    await request('POST', `/lists/${ids.list}/subscribers`, { body: { contactId: ids.contact, status: 'CONFIRMED' } })
  })

  test('has a strong ETag, and returns 304 if it is in If-None-Match', async () => {
    const path = toPath(ids)
    const tag = await readTag(path)
    expect(tag).toMatch(/^"[\w-]{27}"$/)
    for (const value of isWhole ? [tag, `W/${tag}`, `"other", ${tag}`, '*'] : [tag]) {
      const response = await request('GET', path, { headers: { 'if-none-match': value } })
      expect([response.status, response.text, response.headers['etag']]).toEqual([304, '', tag])
    }
    expect((await request('HEAD', path, { headers: { 'if-none-match': tag } })).status).toBe(304)
    for (const value of isWhole ? ['"other"', 'other', ''] : ['"other"']) {
      expect((await request('GET', path, { headers: { 'if-none-match': value } })).status).toBe(200)
    }
  })

  test('is not changed by PATCH or DELETE with another ETag', async () => {
    const path = toPath(ids)
    const changes = ['PATCH', 'DELETE'].filter((method) => supporting.includes(`${method} ${template}`))
    expect(changes.includes('PATCH')).toBe(change !== undefined)
    const tag = await readTag(path)
    for (const method of changes) {
      const send = (value: string) =>
        requestIfMatch(method, path, { tag: value, body: method === 'PATCH' ? change : deletion })
      for (const value of isWhole ? ['"other"', '"other", "else"', '""', 'W/"other"', '"other-gzip"'] : ['"other"'])
        expectError(await send(value), 412, 'The record has changed since it was read: read it again')
      if (isWhole) {
        for (const [value, additions] of [
          [`W/${tag}`, '"W/"'],
          [`"other", ${tag.replace(/"$/, '-gzip"')}`, '"-gzip"'],
          [`W/${tag.replace(/"$/, ';br"')}`, '"W/" and ";br"'],
        ] as const) {
          const message = `The ETag is not as the API returned it: a proxy has added ${additions} to it`
          expectError(await send(value), 412, message)
        }
        expectError(await send('other'), 400, 'If-Match: must be "*" or a list of ETags in double quotes')
      }
      expect(await readTag(path)).toBe(tag)
    }
  })
})

const changeable = Object.entries(records).filter(([, { change }]) => change !== undefined)
describe.each(changeable)('%s', (template, { path: toPath, change }) => {
  test('is changed by PATCH with its ETag, and the response has the new ETag', async () => {
    const path = toPath(ids)
    const tag = await readTag(path)
    const response = await requestIfMatch('PATCH', path, { tag: `"other", ${tag}`, body: change })
    expect([200, 204]).toContain(response.status)
    expect(response.headers['etag']).not.toBe(tag)
    expect(response.headers['etag']).toBe(await readTag(path))
    expectError(await requestIfMatch('PATCH', path, { tag, body: change }), 412)
    expect((await requestIfMatch('PATCH', path, { tag: '*', body: change })).status).toBe(response.status)
  })

  test('of two concurrent PATCHes with the same ETag, one succeeds', async () => {
    const path = toPath(ids)
    const tag = await readTag(path)
    const [field = ''] = Object.keys(change ?? {})
    const bodies = typeof change?.[field] === 'string' ? ['first', 'second'] : [true, true]
    const values =
      { valueCents: [7, 8], role: ['VIEWER', 'ADMIN'], host: ['a.example.org', 'b.example.org'] }[field] ?? bodies
    const responses = await Promise.all(
      values.map((value) => requestIfMatch('PATCH', path, { tag, body: { [field]: value } })),
    )
    const ok = template === '/campaigns/{id}' ? 204 : 200
    expect(countStatuses(responses)).toEqual({ [ok]: 1, 412: 1 })
  })
})

test('a PATCH waits for a concurrent change without If-Match, and then returns 412', async () => {
  const { id } = await createContact()
  const path = `/contacts/${id}`
  const tag = await readTag(path)
  const other = await openTransaction(api.database.db, (db) =>
    updateContact({ ...api.ctx(workspace.id), db }, Id('con').parse(id), { firstName: 'Grace' }),
  )
  const response = requestIfMatch('PATCH', path, { tag, body: { firstName: 'Ada' } })
  await waitUntilBlocked(api.database.db)
  await other.commit()
  expectError(await response, 412)
  expect((await request('GET', path)).body).toMatchObject({ firstName: 'Grace' })
})

test('a PATCH with an outdated ETag is a 412, even if its template is invalid by now', async () => {
  const variables = [{ name: 'code', type: 'TEXT', example: '123' }]
  const template = { name: 'Code', subject: 'Your code', html: '{{ data.code }}', variables, ground: 'SECURITY' }
  const { id } = await api.create<{ id: string }>('/templates', workspace.key, template)
  const path = `/templates/${id}`
  const tag = await readTag(path)
  expect((await request('PATCH', path, { body: { html: 'Hello', variables: [] } })).status).toBe(200)
  const body = { html: 'Code: {{ data.code }}' }
  expectError(await requestIfMatch('PATCH', path, { tag, body }), 412)
  expectError(await requestIfMatch('PATCH', path, { tag: await readTag(path), body }), 400)
})

/** The subscription remains as a record of the opt-out, the import as one of the rows that were imported. */
const keptRecords = new Set(['/lists/{id}/subscribers/{contactId}', '/imports/{id}'])

test('DELETE with the ETag deletes the record, after which If-Match returns 404', async () => {
  // Records before the records that own them.
  for (const template of (await operationsWith('If-Match')).toSorted((a, b) => b.length - a.length)) {
    const [method, path = ''] = template.split(' ')
    // Deleting the workspace ends the session of this test, and the contact is needed by its records.
    if (method !== 'DELETE' || path === '/workspace' || path.startsWith('/contacts/{id}')) continue
    const url = records[path]?.path(ids) ?? ''
    const tag = await readTag(url)
    const deletion = { tag, body: records[path]?.deletion }
    const response = await requestIfMatch('DELETE', url, deletion)
    expect([template, response.status]).toEqual([template, 204])
    expectError(await requestIfMatch('DELETE', url, deletion), keptRecords.has(path) ? 412 : 404)
  }
  const path = `/contacts/${(await createContact()).id}`
  const tag = await readTag(path)
  const deletions = await Promise.all([tag, tag].map((tag) => requestIfMatch('DELETE', path, { tag })))
  expect(countStatuses(deletions)).toEqual({ 204: 1, 404: 1 })
})

test('an error of the change itself is returned, and nothing is written', async () => {
  const [{ id }, taken] = [await createContact(), freshEmail()]
  await createContact({ email: taken })
  const tag = await readTag(`/contacts/${id}`)
  const change = { firstName: 'Ada', email: taken }
  expectError(await requestIfMatch('PATCH', `/contacts/${id}`, { tag, body: change }), 409, 'Contact already exists')
  expect(await readTag(`/contacts/${id}`)).toBe(tag)
})

test('the ETag in the response of a write is that of a later GET', async () => {
  for (const key of ['zeta', 'b', 'alpha']) {
    await api.create('/custom-fields', workspace.key, { key, label: key, type: 'TEXT' })
  }
  const customFieldValues = { zeta: 'z', b: 'b', alpha: 'a' }
  const bodies: Record<string, Json> = {
    '/contacts': { email: freshEmail(), customFieldValues },
    '/webhooks': { url: 'https://example.com', eventTypes: ['*'] },
    '/domains': { name: 'example.net' },
    '/lists': { name: 'News' },
    '/pipelines': { name: 'Sales', stages: [{ name: 'Lead', winProbability: 10 }] },
    '/campaigns': { name: 'News', subject: 'News', listId: ids.list },
  }
  for (const [path, body] of Object.entries(bodies)) {
    const headers = { 'idempotency-key': `create ${path}` }
    const created = await request('POST', path, { headers, body })
    const replayed = await request('POST', path, { headers, body })
    const tag = await readTag(created.headers['location'] ?? '')
    expect([path, created.headers['etag'], replayed.headers['etag']]).toEqual([path, tag, tag])
  }
})

test('PUT /contacts with If-Match only updates an existing contact', async () => {
  const email = freshEmail()
  const put = (ifMatch: string, firstName: string) =>
    requestIfMatch('PUT', '/contacts', { tag: ifMatch, body: { email, firstName } })
  expectError(await put('*', 'Ada'), 412, 'There is no record for If-Match')
  expectError(await put('"other"', 'Ada'), 412)
  const { id } = await createContact({ email })
  const tag = await readTag(`/contacts/${id}`)
  const updated = await put(tag, 'Ada')
  expect([updated.status, updated.headers['etag']]).toEqual([200, await readTag(`/contacts/${id}`)])
  expectError(await put(tag, 'Grace'), 412)
  expect((await put('*', 'Grace')).status).toBe(200)
})

test('removing a tag with If-Match needs a contact that is unchanged', async () => {
  const { id } = await createContact({ tags: ['vip'] })
  const path = `/contacts/${id}/tags/vip`
  expectError(await requestIfMatch('DELETE', path, { tag: '"other"' }), 412)
  const removed = await requestIfMatch('DELETE', path, { tag: await readTag(`/contacts/${id}`) })
  expect(removed).toMatchObject({ status: 200, body: { tags: [] } })
})

test('a route without a record rejects If-Match instead of ignoring it', async () => {
  const message = 'If-Match: is not supported by POST /campaigns/:id/send'
  expectError(await requestIfMatch('POST', `/campaigns/${ids.campaign}/send`, { tag: '"a"' }), 400, message)
  expectError(await requestIfMatch('DELETE', `/sessions/${ids.session}`, { tag: '*' }), 400)
  expect((await request('GET', '/sessions')).text).toContain(ids.session)
})

test('a record of another workspace is a 404 with and without its ETag', async () => {
  const other = await api.signUp()
  const { id } = await createContact()
  const tag = await readTag(`/contacts/${id}`)
  for (const value of [tag, '*', '"other"']) {
    const call = { key: other.key, headers: { 'if-match': value }, body: { firstName: 'Grace' } }
    expectError(await api.call('PATCH', `/contacts/${id}`, call), 404, 'Contact not found')
  }
})
