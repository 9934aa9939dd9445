import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { startTestApi } from '../../../test/testing.ts'

const foreignNames = [
  'evil.example',
  'localhost.evil.example',
  'evil.localhost',
  '127.0.0.1.evil.example',
  '192.168.1.5',
  '0.0.0.0',
  '[::2]',
  'evil@localhost',
  'localhost,evil.example',
  'localhost#.evil.example',
  'xlocalhost',
]

test('a local API refuses every route to a foreign Host, whatever the port', async () => {
  const api = await start({ PUBLIC_URL: 'http://localhost:3000' })
  const routes = [
    'GET /',
    'GET /health',
    'GET /docs',
    'POST /contacts',
    'POST /mcp',
    'GET /queues',
    'OPTIONS /public/forms/x',
  ]
  const refused: unknown = {
    statusCode: 400,
    message: 'Host: must be localhost or the host of PUBLIC_URL',
    error: 'Bad Request',
    code: 'validation_error',
    issues: [{ path: 'Host', message: 'must be localhost or the host of PUBLIC_URL' }],
    docUrl: expect.stringMatching(/\/docs\/errors#validation_error$/),
  }
  for (const route of [...routes, 'GET /nope', 'GET /f/x', 'GET /embed/form.js']) {
    const response = await api.send(route, 'evil.example:3000')
    expect(JSON.parse(response.body)).toEqual(refused)
    expect(response.headers['x-request-id']).toBeDefined()
  }
  for (const name of foreignNames) {
    for (const host of [name, `${name}:${api.port}`]) {
      const response = await api.send('GET /health', host)
      expect(`${host} ${response.status}`).toBe(`${host} 400`)
    }
  }
})

test('a local API serves its own names, with any port', async () => {
  const api = await start({ PUBLIC_URL: 'http://crm.localhost:3000' })
  for (const name of ['localhost', 'LOCALHOST', '127.0.0.1', '[::1]', 'crm.localhost']) {
    for (const host of [name, `${name}:3000`, `${name}:8080`]) {
      const response = await api.send('GET /health', host)
      expect(`${host} ${response.status}`).toBe(`${host} 200`)
    }
  }
})

test.each([
  ['PUBLIC_URL is not this machine', { PUBLIC_URL: 'https://crm.example.com' }],
  ['it listens on all addresses', { PUBLIC_URL: 'http://localhost:3000', HOST: '0.0.0.0' }],
])('an API serves every Host if %s', async (_, environment) => {
  const api = await start(environment)
  expect((await api.send('GET /health', 'api:3000')).status).toBe(200)
})

async function start(environment: Record<string, string>) {
  const api = await startTestApi({ environment })
  onTestFinished(() => api.close())
  const { port } = await api.listen()
  return { port, send: (route: string, host: string) => send(port, route, host) }
}

/** `fetch` does not send a Host header of the caller. */
async function send(port: number, route: string, host: string) {
  const [method = '', path = ''] = route.split(' ')
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request({ host: '127.0.0.1', port, method, path, headers: { host }, agent: false }, resolve).on('error', reject).end()
  const response = await promise
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}
