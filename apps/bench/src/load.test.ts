import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startLoadGenerator } from './load.ts'
import { openProcesses, waitUntil } from './processes.ts'

let received: { client: string; url: string; key: string | undefined; body: string }[] = []
let status = 200
const server = createServer((request, response) => {
  const { headers, url = '' } = request
  void text(request).then((body) => {
    received.push({ client: String(headers['x-forwarded-for']), url, key: headers.authorization, body })
    response.writeHead(status, { 'content-length': 2 }).end('{}')
  })
})
const processes = openProcesses()
let url = ''

beforeEach(async () => {
  received = []
  status = 200
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  await processes.close()
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

const creation = { method: 'POST' as const, path: '/contacts', body: { email: 'ä{n}@example.com' } }
const enough = () => waitUntil(async () => received.length >= 40)

test('a closed loop sends unique bodies, and few requests per client address', async () => {
  const running = startLoadGenerator(processes).start({ urls: [url], requests: [creation], key: 'k', connections: 3 })
  await enough()
  const { perSecond, rejected } = await running.stop()
  expect(perSecond).toBeGreaterThan(0)
  expect(rejected).toBe(0)
  expect(new Set(received.map(({ body }) => body)).size).toBe(received.length)
  expect(JSON.parse(received[0]?.body ?? '')).toEqual({ email: expect.stringMatching(/^ä\d+@example.com$/) })
  expect(received[0]?.key).toBe('Bearer k')
  const clients = Object.values(Object.groupBy(received, ({ client }) => client))
  expect(Math.max(...clients.map((requests = []) => requests.length))).toBeLessThan(100)
  expect(clients.length).toBeGreaterThan(5)
})

test('an open loop alternates between its requests', async () => {
  const requests = ['/one', '/two'].map((path) => ({ method: 'GET' as const, path }))
  const running = startLoadGenerator(processes).start({ urls: [url], requests, perSecond: 500 })
  await enough()
  await running.stop()
  const ofOne = received.filter(({ url }) => url === '/one').length
  expect(Math.abs(received.length - 2 * ofOne)).toBeLessThanOrEqual(1)
})

test('an open loop does not reuse a connection that the server has closed', async () => {
  const requests = [{ method: 'GET' as const, path: '/' }]
  const running = startLoadGenerator(processes).start({ urls: [url], requests, perSecond: 2 })
  const count = promisify(server.getConnections.bind(server))
  for (const soFar of [1, 2]) {
    await waitUntil(async () => received.length === soFar)
    await waitUntil(async () => {
      server.closeIdleConnections()
      return (await count()) === 0
    })
  }
  await waitUntil(async () => received.length === 3)
  expect((await running.stop()).responseCount).toBeGreaterThanOrEqual(3)
})

test('an error response fails the load, except a 503 with allows503', async () => {
  status = 503
  const generator = startLoadGenerator(processes)
  const failing = generator.start({ urls: [url], requests: [creation], connections: 1 })
  await waitUntil(async () => received.length === 1)
  await expect(failing.stop()).rejects.toThrow('HTTP/1.1 503')
  const running = generator.start({ urls: [url], requests: [creation], connections: 1, allows503: true })
  await enough()
  expect(await running.stop()).toMatchObject({ rejected: 1 })
})
