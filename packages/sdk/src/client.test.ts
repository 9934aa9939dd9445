import { expect, test } from 'vitest'
import { createFakeClient, json } from '../test/fake-fetch.ts'
import { encodePath } from './client.ts'
import { Rapport } from './rapport.ts'

const ok = () => json(200, {})

test('a path parameter is encoded, so that it stays one segment', () => {
  expect(encodePath`/contacts/${'con_1'}/tags/${'a/b?c#d%2F e'}`).toBe('/contacts/con_1/tags/a%2Fb%3Fc%23d%252F%20e')
  expect(encodePath`/tags/${'größe 名前 😀'}`).toBe('/tags/gr%C3%B6%C3%9Fe%20%E5%90%8D%E5%89%8D%20%F0%9F%98%80')
  expect(encodePath`/tags/${'...'}`).toBe('/tags/...')
  expect(encodePath`/tags/${'\n'}`).toBe('/tags/%0A')
})

test.each(['', '.', '..'])('the path parameter "%s" is rejected, as it would lead to another path', (parameter) => {
  expect(() => encodePath`/contacts/${parameter}/tags`).toThrow(TypeError)
  const { rapport, sent } = createFakeClient([])
  expect(() => rapport.contacts.delete(parameter)).toThrow(`A path parameter of /contacts/… is "${parameter}"`)
  expect(sent).toEqual([])
})

test('an array of the query is repeated, and undefined is omitted', async () => {
  const { rapport, sent } = createFakeClient([ok, ok, ok])
  await rapport.contacts.list({ tag: ['a&b', 'ü'], limit: 5, count: true, 'customField.plan': 'pro' })
  await rapport.contacts.list({ tag: [] })
  await rapport.contacts.list()
  expect(sent.map(({ path }) => path)).toEqual([
    '/contacts?tag=a%26b&tag=%C3%BC&limit=5&count=true&customField.plan=pro',
    '/contacts',
    '/contacts',
  ])
})

test('a GET has no body and no idempotency key, and a POST has both', async () => {
  const { rapport, sent } = createFakeClient([ok, ok, ok])
  await rapport.contacts.get('con_1')
  await rapport.contacts.create({ email: 'ada@example.com' })
  await rapport.campaigns.send('cam_1')
  expect(sent.map(({ method, path, body }) => [method, path, body])).toEqual([
    ['GET', '/contacts/con_1', ''],
    ['POST', '/contacts', '{"email":"ada@example.com"}'],
    ['POST', '/campaigns/cam_1/send', ''],
  ])
  const [get, create, send] = sent.map(({ headers }) => Object.fromEntries(headers))
  expect(get).toEqual({ authorization: 'Bearer rpk_test' })
  const key = expect.stringMatching(/^[0-9a-f]{32}$/)
  const created = { authorization: 'Bearer rpk_test', 'content-type': 'application/json', 'idempotency-key': key }
  expect(create).toMatchObject(created)
  expect(send).not.toHaveProperty('content-type')
  expect(send?.['idempotency-key']).not.toBe(create?.['idempotency-key'])
})

test('the headers of the options replace those of the client, in any case', async () => {
  const { rapport, sent } = createFakeClient([ok])
  const headers = { Authorization: 'Bearer other', 'IDEMPOTENCY-KEY': 'mine', 'X-Request-Id': 'r1' }
  await rapport.contacts.create({ email: 'ada@example.com' }, { headers, idempotencyKey: 'less specific' })
  expect(Object.fromEntries(sent[0]?.headers ?? [])).toMatchObject({
    authorization: 'Bearer other',
    'idempotency-key': 'mine',
    'x-request-id': 'r1',
  })
})

test('idempotencyKey and ifMatch are sent as headers', async () => {
  const { rapport, sent } = createFakeClient([ok, ok])
  await rapport.contacts.create({ email: 'ada@example.com' }, { idempotencyKey: 'order-1' })
  await rapport.contacts.update('con_1', { firstName: 'Ada' }, { ifMatch: '"v1"' })
  expect(sent[0]?.headers.get('idempotency-key')).toBe('order-1')
  expect(sent[1]?.headers.get('if-match')).toBe('"v1"')
  expect(sent[1]?.headers.has('idempotency-key')).toBe(false)
})

test('the base URL may have a path and a trailing slash', async () => {
  const { rapport, sent } = createFakeClient([ok], { baseUrl: 'https://crm.example/api//' })
  await rapport.contacts.get('con_1')
  expect(sent[0]?.path).toBe('/api/contacts/con_1')
})

test('null in a query is left out, as of a caller without types', async () => {
  const { rapport, sent } = createFakeClient([ok])
  await rapport.contacts.list({ cursor: null as never, limit: 2 })
  expect(sent[0]?.path).toBe('/contacts?limit=2')
})

test('an invalid option is a TypeError at once', () => {
  const invalid = ['', 'crm.example', '//crm.example', 'ftp://crm.example', 'https://', 'https://a b', 'https://a?b=1']
  for (const baseUrl of invalid) expect(() => new Rapport({ baseUrl })).toThrow('baseUrl: must be')
  expect(() => new Rapport({ baseUrl: undefined as never })).toThrow(
    'baseUrl: must be an http or https URL, not undefined',
  )
  for (const apiKey of ['', 'rpk_a\n', 'Bearer rpk_a', 'rpk_ä'])
    expect(() => new Rapport({ baseUrl: 'https://crm.example', apiKey })).toThrow('apiKey: must be')
})

test('options that are undefined are like omitted ones', async () => {
  const options = { apiKey: undefined, maxRetries: undefined, timeoutMs: undefined }
  const { rapport, sent } = createFakeClient([ok], options)
  const request = { signal: undefined, maxRetries: undefined, timeoutMs: undefined, idempotencyKey: undefined }
  await rapport.contacts.create({ email: 'ada@example.com' }, { ...request, ifMatch: undefined, headers: undefined })
  expect([...(sent[0]?.headers.keys() ?? [])]).toEqual(['content-type', 'idempotency-key'])
})

test('a body that JSON cannot represent rejects, and nothing is sent', async () => {
  const { rapport, sent } = createFakeClient([])
  await expect(rapport.deals.create({ valueCents: 1n } as never)).rejects.toThrow(TypeError)
  expect(sent).toEqual([])
})
