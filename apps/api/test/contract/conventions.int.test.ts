/** The conventions of the API: what holds on every route. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { describe, expect, test } from 'vitest'
import { aTimestamp, anId, countStatuses, expectError, freshAddress, freshEmail, startTestApi } from '../testing.ts'

interface Page {
  data: { id: string; createdAt: string }[]
  nextCursor: string | null
}

const api = useForFile(() => startTestApi({ environment: { CORS_ORIGINS: 'https://app.example.com' } }))
const workspace = useForFile(() => api.signUp())
const call = (route: string, body?: unknown, headers: Record<string, string> = {}) => {
  const [method = '', path = ''] = route.split(' ')
  return api.call(method, path, { key: workspace.key, headers, ...(body !== undefined && { body }) })
}
const createContact = () => api.create<{ id: string }>('/contacts', workspace.key, { email: freshEmail() })

describe('Bodies', () => {
  test('another content type on a JSON route is a 415', async () => {
    const response = await api.call('POST', '/contacts', {
      key: workspace.key,
      raw: 'email=ada@example.com',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(expectError(response, 415).code).toBe('unsupported_media_type')
  })

  test('a body of more than 1 MiB is a 413', async () => {
    const response = await call('POST /contacts', { email: freshEmail(), firstName: 'a'.repeat(1_048_576) })
    expect(expectError(response, 413).code).toBe('payload_too_large')
  })

  test('an unknown field is a 400 that names it and suggests the near one', async () => {
    const error = expectError(await call('POST /contacts', { email: freshEmail(), first_name: 'Ada' }), 400)
    expect(error.message).toBe('first_name: unknown field (did you mean "firstName"?)')
    expect(error.issues).toEqual([{ path: 'first_name', message: 'unknown field (did you mean "firstName"?)' }])
  })

  test('an unknown query parameter is a 400 that names it and suggests the near one', async () => {
    const error = expectError(await call('GET /contacts?curser=x'), 400)
    expect(error.message).toBe('curser: unknown parameter (did you mean "cursor"?)')
  })
})

describe('Identifiers', () => {
  const notIds = ['x', 'dea_01kag7m3v9e8fs2t4w6x8y0z1b', 'con_01KAG7M3V9E8FS2T4W6X8Y0Z1B', 'con_', '%00', '1']
  test.each(notIds)('%j is a 404 in a path and a 400 in a body', async (id) => {
    expect(expectError(await call(`GET /contacts/${id}`), 404).code).toBe('not_found')
    const contact = await createContact()
    const error = expectError(await call(`POST /contacts/${contact.id}/merge`, { contactId: id }), 400)
    expect(error.issues?.[0]?.path).toBe('contactId')
  })

  test('an id has the prefix of its type', async () => {
    expect((await createContact()).id).toEqual(anId('con'))
  })
})

describe('Timestamps', () => {
  test('are ISO 8601 in UTC with three decimals', async () => {
    expect(await createContact()).toMatchObject({ createdAt: aTimestamp, updatedAt: aTimestamp })
  })

  test('a range takes moments and dates, includes its start and excludes its end', async () => {
    const list = await api.create<Page['data'][0]>('/lists', workspace.key, { name: 'Range' })
    const [day = ''] = list.createdAt.split('T')
    const tomorrow = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10)
    const find = async (query: string) => {
      const { body } = await api.call<Page>('GET', `/lists?${query}`, { key: workspace.key })
      return body.data.some(({ id }) => id === list.id)
    }
    expect(await find(`createdAfter=${list.createdAt}`)).toBe(true)
    expect(await find(`createdBefore=${list.createdAt}`)).toBe(false)
    expect(await find(`createdAfter=${day}&createdBefore=${tomorrow}`)).toBe(true)
    expect(await find(`createdBefore=${day}`)).toBe(false)
    expect(await find(`createdAfter=${tomorrow}`)).toBe(false)
  })

  test.each(['2026-02-30', '2026-13-01', '20260101', 'yesterday', '2026-01-01T00:00'])(
    '%s is a 400 that names the parameter',
    async (moment) => {
      const error = expectError(await call(`GET /contacts?createdAfter=${moment}`), 400)
      expect(error.issues?.[0]?.path).toBe('createdAfter')
    },
  )
})

describe('Success codes', () => {
  test('201 with Location, 200, 204 without a body, and 202 for background work', async () => {
    const created = await call('POST /lists', { name: 'Codes' })
    const { location = '' } = created.headers
    expect([created.status, location]).toEqual([201, `/lists/${String(created.body['id'])}`])
    expect(await call(`GET ${location}`)).toMatchObject({ status: 200, body: created.body })
    expect(await call(`PATCH ${location}`, { name: 'Changed' })).toMatchObject({
      status: 200,
      body: { name: 'Changed' },
    })
    expect(await call(`DELETE ${location}`)).toMatchObject({ status: 204, text: '' })
    const raw = { key: workspace.key, raw: `email\n${freshEmail()}`, headers: { 'content-type': 'text/csv' } }
    expect(await api.call('POST', '/contacts/import', raw)).toMatchObject({ status: 202 })
  })
})

test('Nullable fields are present as null', async () => {
  expect(await createContact()).toMatchObject({ phone: null, company: null, lastActivityAt: null, source: null })
})

describe('Pagination and sorting', () => {
  test('limit is 1 to 100 with the default 50, and nextCursor is null at the end', async () => {
    const { key } = await api.signUp()
    for (let count = 0; count < 51; count++) await api.create('/contacts', key, { email: freshEmail() })
    const first = await api.call<Page>('GET', '/contacts', { key })
    expect(first.body.data).toHaveLength(50)
    const second = await api.call<Page>('GET', `/contacts?cursor=${first.body.nextCursor}`, { key })
    expect([second.body.data.length, second.body.nextCursor]).toEqual([1, null])
    for (const limit of ['0', '101', '-1', '1e1', '1.5', '', 'all']) {
      expectError(await api.call('GET', `/contacts?limit=${limit}`, { key }), 400)
    }
  })

  test('sort is -createdAt by default, and any other field is a 400', async () => {
    const page = async (sort: string) =>
      (await api.call<Page>('GET', `/lists${sort}`, { key: workspace.key })).body.data
    const newest = await page('')
    expect(await page('?sort=-createdAt')).toEqual(newest)
    expect(await page('?sort=createdAt')).toEqual(newest.toReversed())
    expectError(await call('GET /lists?sort=name,id'), 400)
  })

  test('a cursor that was changed or belongs to another listing or sort is a 400', async () => {
    for (let count = 0; count < 2; count++) await createContact()
    const { body } = await api.call<Page>('GET', '/contacts?limit=1', { key: workspace.key })
    const cursor = String(body.nextCursor)
    const changed = `${cursor.slice(0, -2)}${cursor.endsWith('AA') ? 'BB' : 'AA'}`
    for (const path of [
      `/contacts?cursor=${changed}`,
      `/contacts?sort=email&cursor=${cursor}`,
      `/lists?cursor=${cursor}`,
    ]) {
      expectError(await call(`GET ${path}`), 400, 'Invalid cursor')
    }
  })
})

describe('Idempotency', () => {
  test('the same request gets the first response, another request a 422', async () => {
    const headers = { 'idempotency-key': 'order 1' }
    const body = { email: freshEmail() }
    const first = await call('POST /contacts', body, headers)
    const again = await call('POST /contacts', body, headers)
    expect(again).toMatchObject({ status: 201, text: first.text, headers: { 'idempotent-replayed': 'true' } })
    const other = expectError(await call('POST /contacts', { email: freshEmail() }, headers), 422)
    expect(other.code).toBe('idempotency_conflict')
  })

  test.each(['', 'a'.repeat(256), 'ü'])('the key %j is a 400', async (key) => {
    expectError(await call('POST /contacts', { email: freshEmail() }, { 'idempotency-key': key }), 400)
  })
})

test('Request id: every response has one, and a sane one of the caller is kept', async () => {
  expect((await call('GET /contacts', undefined, { 'x-request-id': 'my-id' })).headers['x-request-id']).toBe('my-id')
  const generated = (await call('GET /nowhere', undefined, { 'x-request-id': 'a b' })).headers['x-request-id']
  expect(generated).toMatch(/^[\w.:=+/-]{8,128}$/)
})

describe('Errors', () => {
  test('have a code, on unknown routes and for malformed JSON too', async () => {
    expect(expectError(await call('GET /nowhere'), 404)).toMatchObject({ code: 'not_found' })
    const malformed = await api.call('POST', '/contacts', { key: workspace.key, raw: '{"email":' })
    expect(expectError(malformed, 400)).toMatchObject({ code: 'validation_error' })
  })

  test('a missing field is required', async () => {
    expect(expectError(await call('POST /contacts', {}), 400)).toMatchObject({
      message: 'email: is required',
      issues: [{ path: 'email', message: 'is required' }],
    })
  })

  test('a record that a body names and that does not exist is a 400', async () => {
    const contact = await createContact()
    const pipelineId = 'pip_01kag7m3v9e8fs2t4w6x8y0z1b'
    const error = expectError(await call('POST /deals', { pipelineId, contactId: contact.id, name: 'Deal' }), 400)
    expect(error.issues).toEqual([{ path: 'pipelineId', message: 'Pipeline not found' }])
  })
})

describe('Limits', () => {
  test('are 100 per minute for each client and endpoint, with the specified 429', async () => {
    const from = freshAddress()
    const responses = []
    for (let count = 0; count < 101; count++) responses.push(await api.call('GET', '/lists', { from }))
    expect(countStatuses(responses)).toEqual({ 401: 100, 429: 1 })
    const last = responses.at(-1)
    expect(last?.text).toBe('{"statusCode":429,"message":"ThrottlerException: Too Many Requests"}')
    expect(last?.headers).toMatchObject({
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
      'retry-after': expect.stringMatching(/^\d+$/),
    })
    expect((await api.call('GET', '/contacts', { from })).status).toBe(401)
    expect((await api.call('GET', '/health', { from })).headers['x-ratelimit-limit']).toBeUndefined()
  })

  test('RATE_LIMIT_EXEMPT names networks that are not counted', async () => {
    const exempt = await startTestApi({ environment: { RATE_LIMIT_EXEMPT: '192.0.2.0/28' } })
    const responses = []
    for (let count = 0; count < 101; count++) responses.push(await exempt.call('GET', '/lists', { from: '192.0.2.7' }))
    expect(countStatuses(responses)).toEqual({ 401: 101 })
    await exempt.close()
  })
})

test('Optimistic locking: If-Match with an old ETag is a 412 and changes nothing', async () => {
  const { id } = await createContact()
  const { etag = '' } = (await call(`GET /contacts/${id}`)).headers
  expect((await call(`PATCH /contacts/${id}`, { company: 'First' }, { 'if-match': etag })).status).toBe(200)
  const late = await call(`PATCH /contacts/${id}`, { company: 'Second' }, { 'if-match': etag })
  expect(expectError(late, 412).code).toBe('precondition_failed')
  expect((await call(`DELETE /contacts/${id}`, undefined, { 'if-match': etag })).status).toBe(412)
  expect((await call(`GET /contacts/${id}`)).body).toMatchObject({ company: 'First' })
})

test('CORS is open on /public/ and for the listed origins elsewhere', async () => {
  const { id } = await api.create<{ id: string }>('/lists', workspace.key, { name: 'Open' })
  const options = { body: { email: freshEmail() }, headers: { origin: 'https://anywhere.example' } }
  const subscribed = await api.call('POST', `/public/lists/${id}/subscribe`, options)
  expect(subscribed.headers['access-control-allow-origin']).toBe('*')
  const from = async (origin: string) => (await call('GET /lists', undefined, { origin })).headers
  expect(await from('https://app.example.com')).toMatchObject({
    'access-control-allow-origin': 'https://app.example.com',
    'access-control-expose-headers': expect.stringContaining('x-request-id'),
  })
  expect((await from('https://anywhere.example'))['access-control-allow-origin']).toBeUndefined()
})

test('Text is trimmed; control characters and overlong values are a 400', async () => {
  const { id } = await createContact()
  expect((await call(`PATCH /contacts/${id}`, { firstName: '  Ada ' })).body).toMatchObject({ firstName: 'Ada' })
  for (const firstName of ['a\u0000b', 'a\nb', 'a'.repeat(201)]) {
    const { issues } = expectError(await call(`PATCH /contacts/${id}`, { firstName }), 400)
    expect(issues?.[0]?.path).toBe('firstName')
  }
})

describe('Roles', () => {
  test('GET needs VIEWER, changes MEMBER, and team, keys and settings ADMIN', async () => {
    const viewer = await api.issueKey(workspace.token, 'VIEWER')
    const member = await api.issueKey(workspace.token, 'MEMBER')
    const attempt = async (key: string, route: string, body?: unknown) => {
      const [method = '', path = ''] = route.split(' ')
      return (await api.call(method, path, { key, ...(body !== undefined && { body }) })).status
    }
    expect(await attempt(viewer, 'GET /contacts')).toBe(200)
    expect(await attempt(viewer, 'POST /contacts', { email: freshEmail() })).toBe(403)
    expect(await attempt(viewer, 'GET /contacts/export')).toBe(403)
    expect(await attempt(member, 'POST /contacts', { email: freshEmail() })).toBe(201)
    expect(await attempt(member, 'GET /contacts/export')).toBe(200)
    expect(await attempt(member, 'POST /api-keys', { name: 'Key' })).toBe(403)
    expect(await attempt(member, 'PATCH /workspace', { name: 'Mine' })).toBe(403)
  })

  test('a missing or wrong credential is a 401 with www-authenticate', async () => {
    for (const key of [undefined, 'wrong', `rpk_${'a'.repeat(43)}`]) {
      const response = await api.call('GET', '/contacts', key === undefined ? {} : { key })
      expect(expectError(response, 401).code).toBe('unauthorized')
      expect(response.headers['www-authenticate']).toMatch(/^Bearer/)
    }
  })

  test('a record of another workspace is a 404 in a path and a 400 in a body', async () => {
    const other = await api.signUp()
    const { id } = await createContact()
    expectError(await api.call('GET', `/contacts/${id}`, { key: other.key }), 404, 'Contact not found')
    const own = await api.create<{ id: string }>('/contacts', other.key, { email: freshEmail() })
    const merge = await api.call('POST', `/contacts/${own.id}/merge`, { key: other.key, body: { contactId: id } })
    expect(expectError(merge, 400).issues).toEqual([{ path: 'contactId', message: 'Contact not found' }])
  })
})
