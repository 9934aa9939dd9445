import { connectRedis } from '@rapport/core/runtime/redis.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { afterEach, expect, test, vi } from 'vitest'
import {
  type ApiResponse,
  type Call,
  countStatuses,
  freshAddress,
  freshEmail,
  operationsOf,
  startTestApi,
} from '../../../test/testing.ts'

/** The table of the specification. Other endpoints allow 100 requests per minute. */
const specified: Record<string, number> = {
  'POST /auth/signup': 10,
  'POST /auth/login': 10,
  'POST /auth/forgot-password': 5,
  'POST /auth/reset-password': 10,
  'POST /auth/accept-invite': 10,
  // The pages of the three routes above.
  'POST /forgot-password': 5,
  'POST /reset-password': 10,
  'POST /accept-invite': 10,
  'POST /public/forms/{id}/submit': 20,
  'POST /public/lists/{id}/subscribe': 20,
}
/** Limits that are not in the table. */
const otherLimits: Record<string, number> = { 'POST /f/{id}': 20 }
/** Rows of the table whose routes do not exist yet. */
const notYetRouted: string[] = []
/** Load balancers and Prometheus poll these often. */
const unlimited = ['GET /health', 'GET /ready', 'GET /metrics', 'GET /tls-allowed']

const tooManyRequestsBody = '{"statusCode":429,"message":"ThrottlerException: Too Many Requests"}'

const api = useForFile(() => startTestApi())
afterEach(() => void vi.useRealTimers())

function expectTooManyRequests(response: ApiResponse<unknown>, limit: number, secondsLeft = 60) {
  expect([response.status, response.text]).toEqual([429, tooManyRequestsBody])
  const shown = Number(response.headers['retry-after'])
  // A real window runs on while a busy machine sends the requests.
  expect(shown).toBeGreaterThan(secondsLeft - (vi.isFakeTimers() ? 1 : 10))
  expect(shown).toBeLessThanOrEqual(secondsLeft)
  expect(response.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(shown),
    'x-request-id': expect.any(String),
  })
}

/** Calls `times` times from one address, and returns the last response. */
async function callRepeatedly(times: number, [method, path]: [string, string], call: Call & { from: string }) {
  let last: ApiResponse | undefined
  for (let count = 0; count < times; count++) last = await api.call(method, path, call)
  if (!last) throw new Error('`times` must be positive')
  return last
}

test('every row of the table has a route', async () => {
  const routed = (await operationsOf(api)).map(({ method, template }) => `${method} ${template}`)
  expect(Object.keys(specified).filter((row) => !routed.includes(row))).toEqual(notYetRouted)
})

test('every operation returns 429 from the first request over its limit', async () => {
  const hidden = ['/openapi.json', '/docs/', '/docs/js/scalar.js', '/nope'].map((path) => ['GET', path, path] as const)
  const operations = (await operationsOf(api)).map(({ method, template, path }) => [method, template, path] as const)
  const server = await createTestRedis()
  // Unlike `openRedis`, without a timeout after which the API would count alone.
  const redis = connectRedis(server.url, {})
  const shared = await startTestApi({ redis })
  for (const [method, template, path] of [...operations, ...hidden]) {
    const name = `${method} ${template}`
    const [from, limit] = [freshAddress(), specified[name] ?? otherLimits[name] ?? 100]
    if (unlimited.includes(name)) continue
    const countNext = async () => {
      const { status, headers } = await shared.call(method, path, { from })
      return [name, status === 429, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]
    }
    expect(await countNext()).toEqual([name, false, String(limit), String(limit - 1)])
    expect(await countNext()).toEqual([name, false, String(limit), String(limit - 2)])
    const [key = '', ...others] = await redis.keys(`*${from}`)
    expect(others).toEqual([])
    // Without an expiry, a window of a minute starts with the next request.
    await redis.set(key, limit - 1)
    expect(await countNext()).toEqual([name, false, String(limit), '0'])
    for (const count of [limit, limit + 1]) {
      await redis.set(key, count)
      expectTooManyRequests(await shared.call(method, path, { from }), limit)
    }
  }
  await shared.close()
  redis.disconnect()
  await server.close()
})

test('health and readiness have no limit', async () => {
  const from = freshAddress()
  for (const path of ['/health', '/ready']) {
    for (const method of ['GET', 'HEAD']) {
      const last = await callRepeatedly(150, [method, path], { from })
      expect(last.status).toBe(200)
      expect(last.headers['x-ratelimit-limit']).toBeUndefined()
    }
  }
})

test('each endpoint has its own count, regardless of query and ids', async () => {
  const from = freshAddress()
  await callRepeatedly(10, ['POST', '/auth/login'], { from })
  expect((await api.call('POST', '/auth/login?x=1', { from })).status).toBe(429)
  expect((await api.call('POST', '/auth/signup', { from })).status).toBe(400)
  for (let count = 0; count < 20; count++) await api.call('POST', `/public/lists/list${count}/subscribe`, { from })
  expect((await api.call('POST', '/public/lists/another/subscribe', { from })).status).toBe(429)
  await callRepeatedly(100, ['GET', '/contacts'], { from })
  expect((await api.call('GET', '/contacts?limit=1', { from })).status).toBe(429)
  expect((await api.call('HEAD', '/contacts', { from })).status).toBe(429)
  expect((await api.call('POST', '/contacts', { from })).status).toBe(401)
  expect((await api.call('GET', '/contacts/con_01kag7m3v9e8fs2t4w6x8y0z1b', { from })).status).toBe(401)
})

test('rejected, malformed and unauthenticated requests count too', async () => {
  const [from, { key }] = [freshAddress(), await api.signUp()]
  const sent: Call[] = [
    { key, body: { email: freshEmail() } },
    {},
    { key: 'rpk_wrong' },
    { key, raw: '{bad' },
    { key, raw: 'x', headers: { 'content-type': 'text/plain' } },
    { key, raw: Buffer.alloc(1_100_000) },
    { key, body: { email: 'no address' } },
    { key, body: { nonsense: 1 } },
    { key, body: { email: freshEmail() }, headers: { 'idempotency-key': '' } },
    { key, raw: '['.repeat(100_000) },
  ]
  const statuses = new Set<number>()
  for (let count = 0; count < 100; count++) {
    statuses.add((await api.call('POST', '/contacts', { from, ...sent[count % sent.length] })).status)
  }
  expect([...statuses].toSorted((a, b) => a - b)).toEqual([201, 400, 401, 409, 413, 415])
  const email = freshEmail()
  expect((await api.call('POST', '/contacts', { from, key, body: { email } })).text).toBe(tooManyRequestsBody)
  expect((await api.call('GET', `/contacts?email=${email}`, { key })).body).toEqual({ data: [], nextCursor: null })
})

test('unknown routes share one count across methods, paths and bodies', async () => {
  const from = freshAddress()
  const methods = ['GET', 'POST', 'PUT', 'DELETE', 'TRACE']
  const bodies: Call[] = [{}, { raw: '{bad' }, { raw: Buffer.alloc(2_000_000) }]
  for (let count = 0; count < 100; count++) {
    const method = methods[count % methods.length] ?? ''
    const path = count % 10 === 0 ? '/%ff' : `/nope/${count}`
    const response = await api.call(method, path, { from, ...(method === 'POST' && bodies[count % 3]) })
    expect([response.status, response.headers['x-ratelimit-remaining']]).toEqual([404, String(99 - count)])
  }
  for (const path of ['/another', '/%ff', '/contacts/a/b'])
    expect((await api.call('GET', path, { from })).text).toBe(tooManyRequestsBody)
  expect((await api.call('GET', '/contacts', { from })).status).toBe(401)
})

test('of 200 concurrent requests, exactly the limit passes', async () => {
  const from = freshAddress()
  const responses = await Promise.all(Array.from({ length: 200 }, () => api.call('GET', '/contacts', { from })))
  expect(countStatuses(responses)).toEqual({ 401: 100, 429: 100 })
})

test('the window starts with the first request and resets when it ends', async () => {
  const [from, startedAt] = [freshAddress(), Date.parse('2026-11-21T06:35:49.123Z')]
  vi.useFakeTimers({ toFake: ['Date'], now: startedAt })
  const login = () => api.call('POST', '/auth/login', { from })
  expect((await login()).headers['x-ratelimit-reset']).toBe('60')
  vi.setSystemTime(startedAt + 20_000)
  expect((await callRepeatedly(9, ['POST', '/auth/login'], { from })).headers).toMatchObject({
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': '40',
  })
  expectTooManyRequests(await login(), 10, 40)
  vi.setSystemTime(startedAt + 59_999)
  expectTooManyRequests(await login(), 10, 1)
  vi.setSystemTime(startedAt + 60_000)
  expect(await login()).toMatchObject({
    status: 400,
    headers: { 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '60' },
  })
  // The window is fixed, not sliding: the whole limit is available again.
  expect((await callRepeatedly(9, ['POST', '/auth/login'], { from })).status).toBe(400)
  expectTooManyRequests(await login(), 10, 60)
})

const sameClients = [
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:DB8:1:2:0:0:0:9'],
  ['198.51.100.7', '::ffff:198.51.100.7', '::ffff:c633:6407'],
]
test.each(sameClients)('counts %s, %s and %s as one client', async (...addresses) => {
  for (let count = 0; count < 9; count++) await api.call('POST', '/auth/login', { from: addresses[count % 3] ?? '' })
  for (const from of addresses.slice(0, 1)) expect((await api.call('POST', '/auth/login', { from })).status).toBe(400)
  for (const from of addresses) expect((await api.call('POST', '/auth/login', { from })).status).toBe(429)
})

test('counts neighboring addresses and networks as other clients', async () => {
  for (const from of ['203.0.113.1', '2001:db8:7:1::1']) await callRepeatedly(11, ['POST', '/auth/login'], { from })
  for (const from of ['203.0.113.2', '2001:db8:7:2::1', '2001:db8:7:0:ffff::1']) {
    expect((await api.call('POST', '/auth/login', { from })).status).toBe(400)
  }
})

test('behind a trusted proxy, only the address that it added counts', async () => {
  const client = freshAddress()
  for (let count = 0; count < 10; count++) {
    await api.call('POST', '/auth/login', { from: `${freshAddress()}, 127.0.0.9, ${freshAddress()}, ${client}` })
  }
  expect((await api.call('POST', '/auth/login', { from: client })).status).toBe(429)
})

test.each<[string, (count: number) => string]>([
  ['a port', (count) => `203.0.113.7:${1_000 + count}`],
  ['a port, in IPv6', (count) => `[2001:db8::7]:${1_000 + count}`],
  ['a zone', (count) => `fe80::1%eth${count}`],
  ['zeros', (count) => `203.0.113.${'0'.repeat(1 + (count % 2))}11`],
  ['nonsense', (count) => `client ${count}`],
])('an address with %s does not become a new client each time', async (_, addressOf) => {
  const fresh = await startTestApi()
  for (let count = 0; count < 10; count++) await fresh.call('POST', '/auth/login', { from: addressOf(count) })
  expect((await fresh.call('POST', '/auth/login', { from: addressOf(10) })).text).toBe(tooManyRequestsBody)
  await fresh.close()
})

test('an invalid address is counted and causes no error', async () => {
  const strange = [
    'unknown',
    'fe80::1%eth0',
    '::',
    '999.1.1.1',
    '<script>',
    '[::1]:443',
    "' or 1=1",
    'x'.repeat(5_000),
    ',,,',
  ]
  for (const from of strange) expect([from, (await api.call('GET', '/nope', { from })).status]).toEqual([from, 404])
})

test.each(['', '10.0.0.0/8'])('ignores forwarded headers from untrusted peers (TRUST_PROXY="%s")', async (trust) => {
  const untrusting = await startTestApi({ environment: { TRUST_PROXY: trust } })
  const forge = () => {
    const forged = freshAddress()
    return {
      from: forged,
      headers: { 'x-real-ip': forged, 'x-client-ip': forged, forwarded: `for=${forged}`, 'cf-connecting-ip': forged },
    }
  }
  for (let count = 0; count < 10; count++) {
    expect((await untrusting.call('POST', '/auth/login', forge())).status).toBe(400)
  }
  expect((await untrusting.call('POST', '/auth/login', forge())).text).toBe(tooManyRequestsBody)
  await untrusting.close()
})

test('in Redis too, the window starts with the first request and lasts 60 seconds', async () => {
  const server = await createTestRedis()
  const redis = connectRedis(server.url, {})
  const shared = await startTestApi({ redis })
  const from = freshAddress()
  const login = () => shared.call('POST', '/auth/login', { from })
  for (let count = 0; count < 10; count++) expect((await login()).status).toBe(400)
  expectTooManyRequests(await login(), 10)
  const keys = await redis.keys('*')
  expect(keys).toEqual([`{rapport:limit}:POST /auth/login ${from}`])
  const key = keys[0] ?? ''
  expect(await redis.get(key)).toBe('11')
  // 30 seconds later the window is still the same, and its end has not moved.
  await redis.pexpire(key, 30_000)
  expectTooManyRequests(await login(), 10, 30)
  expect(await redis.pttl(key)).toBeLessThanOrEqual(30_000)
  // A key without an expiry must not block a client permanently.
  await redis.persist(key)
  expect((await login()).headers['retry-after']).toBe('60')
  expect(await redis.pttl(key)).toBeGreaterThan(59_000)
  await redis.pexpire(key, 0)
  expect(await login()).toMatchObject({
    status: 400,
    headers: { 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '60' },
  })
  await shared.close()
  redis.disconnect()
  await server.close()
})
