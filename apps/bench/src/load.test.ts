import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startLoadGenerator } from './load.ts'
import { openProcesses, until } from './processes.ts'

let asked: { client: string; url: string; key: string | undefined; body: string }[] = []
let status = 200
const server = createServer((request, response) => {
  const { headers, url = '' } = request
  void text(request).then((body) => {
    asked.push({ client: String(headers['x-forwarded-for']), url, key: headers.authorization, body })
    response.writeHead(status, { 'content-length': 2 }).end('{}')
  })
})
const processes = openProcesses()
let url = ''

beforeEach(async () => {
  asked = []
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
const enough = () => until(async () => asked.length >= 40)

test('a closed loop asks again as soon as it is answered, with ever new bodies and as few of each client as no limit minds', async () => {
  const running = startLoadGenerator(processes).start({ urls: [url], asks: [creation], key: 'k', connections: 3 })
  await enough()
  const { perSecond, refused } = await running.stop()
  expect(perSecond).toBeGreaterThan(0)
  expect(refused).toBe(0)
  expect(new Set(asked.map(({ body }) => body)).size).toBe(asked.length)
  expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ email: expect.stringMatching(/^ä\d+@example.com$/) })
  expect(asked[0]?.key).toBe('Bearer k')
  const clients = Object.values(Object.groupBy(asked, ({ client }) => client))
  expect(Math.max(...clients.map((asks = []) => asks.length))).toBeLessThan(100)
  expect(clients.length).toBeGreaterThan(5)
})

test('an open loop takes its asks in turns', async () => {
  const asks = ['/one', '/two'].map((path) => ({ method: 'GET' as const, path }))
  const running = startLoadGenerator(processes).start({ urls: [url], asks, perSecond: 500 })
  await enough()
  await running.stop()
  const ofOne = asked.filter(({ url }) => url === '/one').length
  expect(Math.abs(asked.length - 2 * ofOne)).toBeLessThanOrEqual(1)
})

test('an open loop does not ask on a connection that the server has closed meanwhile', async () => {
  const asks = [{ method: 'GET' as const, path: '/' }]
  const running = startLoadGenerator(processes).start({ urls: [url], asks, perSecond: 2 })
  const count = promisify(server.getConnections.bind(server))
  for (const soFar of [1, 2]) {
    await until(async () => asked.length === soFar)
    await until(async () => {
      server.closeIdleConnections()
      return (await count()) === 0
    })
  }
  await until(async () => asked.length === 3)
  expect((await running.stop()).answered).toBeGreaterThanOrEqual(3)
})

test('an answer that is an error fails the load, unless it is a 503 that was expected', async () => {
  status = 503
  const generator = startLoadGenerator(processes)
  const failing = generator.start({ urls: [url], asks: [creation], connections: 1 })
  await until(async () => asked.length === 1)
  await expect(failing.stop()).rejects.toThrow('HTTP/1.1 503')
  const running = generator.start({ urls: [url], asks: [creation], connections: 1, may503: true })
  await enough()
  expect(await running.stop()).toMatchObject({ refused: 1 })
})
