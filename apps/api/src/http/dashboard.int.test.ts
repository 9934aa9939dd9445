import { connectRedis } from '@rapport/core/runtime/redis.ts'
import { once } from 'node:events'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { describe, expect, test, vi } from 'vitest'
import {
  type ApiResponse,
  countStatuses,
  expectError,
  freshAddress,
  startTestApi,
  type TestApi,
} from '../../test/testing.ts'

const password = 'the password of the operators'
const api = useForFile(() => startTestApi({ environment: { DASHBOARD_PASSWORD: password } }))

const basic = (user: string, given: string) => ({ authorization: `Basic ${btoa(`${user}:${given}`)}` })
const paths = ['/queues', '/queues/', '/queues/api/queues', '/queues/queue/mail', '/queues/static/css/index.css']

test('every path of the dashboard requires the password', async () => {
  const { key, token } = await api.signUp()
  const attempts = [
    {},
    basic('admin', 'wrong'),
    basic('admin', ''),
    basic('', password),
    basic('Admin', password),
    { authorization: 'Basic' },
    { authorization: 'Basic %%%' },
    { authorization: `Bearer ${key}` },
    { authorization: `Bearer ${token}` },
  ]
  for (const path of paths) {
    for (const headers of attempts) {
      const response = await api.call('GET', path, { headers })
      expectError(response, 401)
      expect(response.headers['www-authenticate']).toBe('Basic realm="Rapport queues", charset="UTF-8"')
      expect(response.text).not.toMatch(/webhooks|campaigns/)
    }
  }
  for (const path of ['/queues/api/queues/pause', '/queues/api/queues/mail/obliterate']) {
    expectError(await api.call('PUT', path), 401)
  }
})

/** Guesses on all paths in turn: each path has a rate limit of its own, but they share the lock-out. */
const guess = (on: TestApi, from: string, count = 0) =>
  on.call('GET', paths[count % paths.length] ?? '', { from, headers: basic('admin', `guess ${count}`) })
const logIn = (on: TestApi, from: string) => on.call('GET', '/queues', { from, headers: basic('admin', password) })

async function expectLockedOut(response: Promise<ApiResponse>) {
  const { status, text, headers } = await response
  expect([status, text]).toEqual([429, '{"statusCode":429,"message":"ThrottlerException: Too Many Requests"}'])
  expect(Number(headers['retry-after'])).toBeGreaterThan(800)
  expect(Number(headers['retry-after'])).toBeLessThanOrEqual(900)
  expect(headers['x-ratelimit-remaining']).toBe('0')
}

test.each([
  ['198.51.100.20', '198.51.100.20', '198.51.100.21'],
  ['2001:db8:20:1::1', '2001:db8:20:1:ffff::9', '2001:db8:20:2::1'],
])('ten wrong passwords from %s lock %s out, but not %s', async (from, locked, other) => {
  for (let count = 0; count < 9; count++) expectError(await guess(api, from, count), 401)
  expect((await logIn(api, locked)).status).toBe(200)
  await expectLockedOut(guess(api, from))
  for (const path of paths)
    await expectLockedOut(api.call('GET', path, { from: locked, headers: basic('admin', password) }))
  expect((await logIn(api, other)).status).toBe(200)
})

test('right passwords and requests without a password do not lock an address out', async () => {
  const from = freshAddress()
  for (let count = 0; count < 15; count++) {
    expect((await logIn(api, from)).status).toBe(200)
    expectError(await api.call('GET', '/queues', { from }), 401)
  }
})

test('at most ten of many concurrent guesses are checked', async () => {
  const from = freshAddress()
  const guesses = Array.from({ length: 60 }, (_, count) => (count === 40 ? logIn(api, from) : guess(api, from, count)))
  expect(countStatuses(await Promise.all(guesses))).toEqual({ 401: 9, 429: 51 })
})

test('an address of an exempt network is locked out too, for 15 minutes', async () => {
  const environment = { DASHBOARD_PASSWORD: password, RATE_LIMIT_EXEMPT: '198.51.100.0/24' }
  const exempting = await startTestApi({ environment })
  const from = '198.51.100.9'
  const startedAt = Date.now()
  vi.useFakeTimers({ toFake: ['Date'], now: startedAt })
  for (let count = 0; count < 10; count++) await guess(exempting, from, count)
  vi.setSystemTime(startedAt + 15 * 60_000 - 1)
  expect((await logIn(exempting, from)).headers['retry-after']).toBe('1')
  vi.setSystemTime(startedAt + 15 * 60_000)
  expect((await logIn(exempting, from)).status).toBe(200)
  vi.useRealTimers()
  await exempting.close()
})

test('with Redis, API processes share the lock-out', async () => {
  const server = await createTestRedis()
  // Without the timeout of `openRedis`, after which a process would count alone.
  const redis = connectRedis(server.url, {})
  await once(redis, 'ready')
  const start = () => startTestApi({ redis, environment: { DASHBOARD_PASSWORD: password } })
  const [first, second] = [await start(), await start()]
  const from = freshAddress()
  for (let count = 0; count < 9; count++) expectError(await guess(count % 2 ? first : second, from, count), 401)
  expect((await logIn(second, from)).status).toBe(200)
  await expectLockedOut(guess(first, from))
  for (const on of [first, second]) await expectLockedOut(logIn(on, from))
  // Reading the count of an address without failures leaves nothing behind.
  expect((await logIn(first, '203.0.113.99')).status).toBe(200)
  expect(await redis.keys('*dashboard*')).toEqual([`{rapport:limit}:unknown dashboard password ${from}`])
  await first.close()
  await second.close()
  redis.disconnect()
  await server.close()
})

test('shows every queue with the password, and loads no external resources', async () => {
  const headers = basic('admin', password)
  const page = await api.call('GET', '/queues', { headers })
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  expect(page.text).toContain('Rapport queues')
  const queues = await api.call<{ queues: { name: string }[] }>('GET', '/queues/api/queues', { headers })
  expect(queues.body.queues.map(({ name }) => name)).toEqual([
    'webhooks',
    'campaigns',
    'mail',
    'imports',
    'maintenance',
  ])
})

describe('a cross-site request', () => {
  const credential = basic('admin', password)
  const path = '/queues/api/queues/webhooks/pause'
  const foreign: Record<string, Record<string, string>> = {
    'another origin': { origin: 'https://evil.test' },
    'an opaque origin': { origin: 'null' },
    'sec-fetch-site': { 'sec-fetch-site': 'cross-site' },
    'a sibling subdomain': { 'sec-fetch-site': 'same-site', origin: 'https://blog.example.com' },
  }
  test.each(Object.entries(foreign))('is rejected with 403: %s', async (_, headers) => {
    for (const method of ['PUT', 'POST', 'DELETE']) {
      expect((await api.call(method, path, { headers: { ...credential, ...headers } })).status).not.toBe(200)
    }
    expectError(await api.call('PUT', path, { headers: { ...credential, ...headers } }), 403)
    expectError(
      await api.call('POST', '/queues/api/queues/webhooks/add', { headers: { ...credential, ...headers } }),
      403,
    )
  })

  const own: Record<string, Record<string, string>> = {
    'the dashboard page': { 'sec-fetch-site': 'same-origin', origin: 'https://crm.example.com' },
    'the dashboard page in an old browser': { origin: 'https://crm.example.com' },
    'the dashboard page at the URL that was requested': { origin: 'http://localhost:80' },
    'a client that is not a browser': {},
  }
  test.each(Object.entries(own))('is not assumed for %s', async (_, headers) => {
    for (const path of ['pause', 'resume']) {
      const response = await api.call('PUT', `/queues/api/queues/webhooks/${path}`, {
        headers: { ...credential, ...headers },
      })
      expect(response.status).toBe(200)
    }
  })
})

test('the dashboard does not exist without a configured password', async () => {
  const without = await startTestApi()
  for (const path of paths) expectError(await without.call('GET', path), 404, 'Route not found')
  await without.close()
})
