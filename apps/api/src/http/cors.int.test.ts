import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { type ApiResponse, operationsOf, startTestApi } from '../../test/testing.ts'

const closed = useForFile(() => startTestApi())
// With and without a trailing slash.
const environment = { CORS_ORIGINS: 'https://app.example.com/, http://localhost:5173' }
const open = useForFile(() => startTestApi({ environment }))

const exposed =
  'x-request-id, etag, location, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, idempotent-replayed, matched-by'
const foreign = 'https://evil.example'
const corsOf = ({ headers }: ApiResponse) =>
  Object.entries(headers).filter(([name]) => name.startsWith('access-control'))
const preflightHeaders = (origin: string) => ({
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'content-type',
})

test('any origin may call public routes and read their errors, without credentials', async () => {
  const paths = [
    '/public/lists/nope/subscribe',
    '/public/forms/nope/submit',
    '/public/unsubscribe?token=x',
    '/public/subscriptions/confirm?token=x',
  ]
  for (const api of [closed, open]) {
    for (const path of paths) {
      const from = '10.200.0.1'
      for (let count = 0; count < 21; count++) {
        const response = await api.call('POST', path, { from, headers: { origin: foreign }, body: {} })
        expect(corsOf(response)).toEqual([
          ['access-control-allow-origin', '*'],
          ['access-control-expose-headers', exposed],
        ])
      }
    }
  }
})

test('a preflight request to a public route allows what a form needs', async () => {
  const response = await closed.call('OPTIONS', '/public/lists/nope/subscribe', { headers: preflightHeaders(foreign) })
  expect([response.status, response.text]).toEqual([204, ''])
  expect(Object.fromEntries(corsOf(response))).toEqual({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, HEAD, POST',
    'access-control-allow-headers': 'content-type',
    'access-control-expose-headers': exposed,
    'access-control-max-age': '86400',
  })
})

test('an OPTIONS request that is not a preflight returns an empty 204', async () => {
  const response = await closed.call('OPTIONS', '/public/lists/nope/subscribe')
  expect(response.status).toBe(204)
  expect(response.text).toBe('')
})

test('other routes allow no origin that is not configured', async () => {
  // The embed script is public too, and contains no data.
  const isOpen = (template: string) => template.startsWith('/public/') || template === '/embed/form.js'
  const operations = (await operationsOf(closed)).filter(({ template }) => !isOpen(template))
  const paths = new Set(operations.map(({ path }) => path))
  expect(paths.size).toBeGreaterThan(20)
  const more = ['/nope', '/publicity', '/openapi.json', '/docs/', '/PUBLIC/forms', '//public/forms', '/%ff']
  for (const path of [...paths, ...more]) {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const refused = [
        await closed.call(method, path, { headers: preflightHeaders(foreign) }),
        await closed.call(method, path, { headers: preflightHeaders('null') }),
      ]
      for (const response of refused) expect([method, path, corsOf(response)]).toEqual([method, path, []])
      const listed = await open.call(method, path, { headers: preflightHeaders(foreign) })
      const names = corsOf(listed).map(([name]) => name)
      expect(names).not.toContain('access-control-allow-origin')
    }
  }
  const preflight = await closed.call('OPTIONS', '/contacts', { headers: preflightHeaders(foreign) })
  expect(preflight.status).toBe(404)
})

test('a configured origin may call every route, without cookies', async () => {
  for (const origin of ['https://app.example.com', 'http://localhost:5173']) {
    const response = await open.call('GET', '/contacts', { headers: { origin } })
    expect(response.status).toBe(401)
    expect(corsOf(response)).toEqual([
      ['access-control-allow-origin', origin],
      ['access-control-expose-headers', exposed],
    ])
    expect(response.headers['vary']).toContain('Origin')
    const requestHeaders = 'authorization, content-type, idempotency-key, if-match, if-none-match, x-request-id'
    const headers = { ...preflightHeaders(origin), 'access-control-request-headers': requestHeaders }
    const preflight = await open.call('OPTIONS', '/contacts', { headers })
    expect(preflight.status).toBe(204)
    expect(Object.fromEntries(corsOf(preflight))).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-headers': requestHeaders,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    })
  }
  for (const origin of [
    'https://app.example.com.evil.example',
    'http://app.example.com',
    'https://APP.example.com',
    'http://localhost',
  ]) {
    const response = await open.call('GET', '/contacts', { headers: { origin } })
    expect([origin, response.headers['access-control-allow-origin']]).toEqual([origin, undefined])
  }
})
