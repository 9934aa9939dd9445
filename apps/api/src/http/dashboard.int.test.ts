import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { describe, expect, test } from 'vitest'
import { expectError, freshAddress, startTestApi } from '../../test/testing.ts'

const password = 'only operators know'
const api = useForFile(() => startTestApi({ environment: { DASHBOARD_PASSWORD: password } }))

const basic = (user: string, given: string) => ({ authorization: `Basic ${btoa(`${user}:${given}`)}` })
const paths = ['/queues', '/queues/', '/queues/api/queues', '/queues/queue/mail', '/queues/static/css/index.css']

test('nobody sees the queues without the password, in any part of the dashboard', async () => {
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

test('wrong guesses are limited as every other request', async () => {
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

test('who has the password sees every queue, and loads nothing from elsewhere', async () => {
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

describe('a page of another site', () => {
  const credential = basic('admin', password)
  const path = '/queues/api/queues/webhooks/pause'
  const foreign: Record<string, Record<string, string>> = {
    'by its origin': { origin: 'https://evil.test' },
    'by an origin that hides': { origin: 'null' },
    'by what the browser says': { 'sec-fetch-site': 'cross-site' },
    'of the same domain': { 'sec-fetch-site': 'same-site', origin: 'https://blog.example.com' },
  }
  test.each(Object.entries(foreign))('changes nothing with what the browser knows, %s', async (_, headers) => {
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
    'the page itself': { 'sec-fetch-site': 'same-origin', origin: 'https://crm.example.com' },
    'the page itself in an old browser': { origin: 'https://crm.example.com' },
    'the page itself at the address it was called by': { origin: 'http://localhost:80' },
    'no browser': {},
  }
  test.each(Object.entries(own))('is told from %s', async (_, headers) => {
    for (const path of ['pause', 'resume']) {
      const response = await api.call('PUT', `/queues/api/queues/webhooks/${path}`, {
        headers: { ...credential, ...headers },
      })
      expect(response.status).toBe(200)
    }
  })
})

test('without a password there is no dashboard', async () => {
  const without = await startTestApi()
  for (const path of paths) expectError(await without.call('GET', path), 404, 'Route not found')
  await without.close()
})
