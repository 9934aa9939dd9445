/** Malformed credentials and tokens, sent over a socket as no HTTP library would. */
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { freshAddress, startTestApi } from '../../test/testing.ts'

const metricsToken = 'known-to-prometheus-alone'
const dashboardPassword = 'the password of the operators'
const environment = { METRICS_TOKEN: metricsToken, DASHBOARD_PASSWORD: dashboardPassword }
const api = useForFile(() => startTestApi({ environment }))
const workspace = useForFile(() => api.signUp())

/** Sends each value as a header of its own, as `fetch` cannot. Returns what a client sees of the response. */
async function send(method: string, path: string, authorization: readonly string[]) {
  const { port } = await (listening ??= api.listen())
  const headers = ['Host', 'localhost', 'X-Forwarded-For', freshAddress()]
  for (const value of authorization) headers.push('Authorization', value)
  const request = httpRequest({ port, method, path, headers }).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const { date: _date, 'x-request-id': _id, ...shown } = response.headers
  return { status: response.statusCode, headers: shown, text: await text(response) }
}
let listening: ReturnType<typeof api.listen> | undefined

/** Every kind of credential, and a route that takes it. */
const routes = {
  '/contacts': ['GET', () => `Bearer ${workspace.key}`],
  '/auth/me': ['GET', () => `Bearer ${workspace.token}`],
  '/mcp': ['POST', () => `Bearer ${workspace.key}`],
  '/auth/logout': ['POST', () => `Bearer ${workspace.token}`],
  '/metrics': ['GET', () => `Bearer ${metricsToken}`],
  '/queues': ['GET', () => `Basic ${btoa(`admin:${dashboardPassword}`)}`],
} as const

test.each(Object.entries(routes))('%s answers two credentials as one that is wrong', async (path, [method, valid]) => {
  const wrong = await send(method, path, [`${valid().split(' ')[0]} wrong`])
  expect(wrong.status).toBe(401)
  for (const both of [
    [valid(), valid()],
    [valid(), 'Bearer x'],
    ['Bearer x', valid()],
    [valid(), ''],
  ]) {
    expect([both, await send(method, path, both)]).toEqual([both, wrong])
  }
})

test('a token of any form is answered exactly as a wrong token', async () => {
  const wrong = await send('GET', '/contacts', [`Bearer rpk_${'a'.repeat(43)}`])
  expect(wrong).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } })
  const { key } = workspace
  const malformed = [
    ['', ' ', 'Bearer', 'Bearer ', 'Bearer  ', `Bearer\t${key}`, `Bearer ${key} x`, key],
    [200, 201, 1_000, 10_000].flatMap((length) => [
      `Bearer ${'a'.repeat(length)}`,
      `Bearer ${key.padEnd(length, 'a')}`,
    ]),
    ['Bearer ü', `Bearer ${key}ÿ`, 'Bearer \u00a0', `Bearer ${key},`, `Bearer "${key}"`, `Bearer ${key}=`],
    [`Basic ${key}`, `Token ${key}`, `Digest ${key}`, `Bearer${key}`, `Bearer:${key}`, 'Basic', '\u00e4'],
  ].flat()
  for (const authorization of malformed) {
    expect([authorization, await send('GET', '/contacts', [authorization])]).toEqual([authorization, wrong])
  }
})

test.each([
  ['POST', '/auth/reset-password'],
  ['POST', '/auth/accept-invite'],
  ['POST', '/auth/verify-email'],
  ['GET', '/reset-password'],
  ['GET', '/accept-invite'],
  ['GET', '/verify-email'],
  ['GET', '/public/subscriptions/confirm'],
  ['POST', '/public/unsubscribe'],
  ['GET', '/public/open'],
  ['GET', '/public/click'],
])('%s %s answers a token of any form exactly as a wrong token', async (method, path) => {
  const isLink = !path.startsWith('/auth/')
  const submit = async (token: string) => {
    const query = isLink ? `?token=${encodeURIComponent(token)}` : ''
    const body = isLink ? {} : { body: { token, password: workspace.password } }
    const { headers, ...response } = await api.call(method, `${path}${query}`, body)
    const { date: _date, 'x-request-id': _id, ...shown } = headers
    return { ...response, headers: shown }
  }
  const wrong = await submit(`rpr_${'a'.repeat(43)}`)
  expect(wrong.status).toBe(400)
  const long = [200, 201, 601, 5_000, 12_001].map((length) => 'x'.repeat(length))
  // A NUL in a JSON body is an error of its own, in any field.
  const malformed = ['', ' ', 'x', 'ü', '.', 'a.b', ...long, ...(isLink ? ['\u0000'] : [])]
  for (const token of malformed) expect([token, await submit(token)]).toEqual([token, wrong])
})
