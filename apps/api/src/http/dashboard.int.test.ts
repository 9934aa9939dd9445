import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { describe, expect, test } from 'vitest'
import { expectError, freshAddress, startTestApi } from '../../test/testing.ts'

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

test('failed logins count against the rate limit', async () => {
  const from = freshAddress()
  for (let count = 0; count < 100; count++) {
    expect((await api.call('GET', '/queues', { from, headers: basic('admin', `guess ${count}`) })).status).toBe(401)
  }
  const response = await api.call('GET', '/queues', { from, headers: basic('admin', password) })
  expect([response.status, response.text]).toEqual([
    429,
    '{"statusCode":429,"message":"ThrottlerException: Too Many Requests"}',
  ])
})

test('shows every queue with the password, and loads no external resources', async () => {
  const headers = basic('admin', password)
  const page = await api.call('GET', '/queues', { headers })
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  expect(page.text).toContain('Rapport queues')
  expect(page.headers['content-security-policy']).toMatch(/^default-src 'self' 'unsafe-inline' data:;/)
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
