/** When a connection is reused, and that nothing is sent twice for it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Connections, openOutboundHttp, type OutboundHttp } from './outbound-http.ts'

let http: OutboundHttp
let receiver: Receiver
let connections: Connections
beforeAll(() => {
  http = openOutboundHttp(['127.0.0.0/8'])
})
beforeEach(async () => {
  receiver = await startReceiver()
  connections = http.openConnections()
})
afterEach(async () => {
  await connections.close()
  await receiver.close()
})
afterAll(() => http.close())

let nextId = 0
const post = (body = '{}') => {
  nextId += 1
  return connections.post(receiver.url, { headers: { 'webhook-id': String(nextId) }, body })
}

describe('a connection', () => {
  test('carries the requests of a turn one after the other', async () => {
    for (let n = 0; n < 5; n += 1) expect(await post()).toMatchObject({ status: 200, body: 'ok', error: null })
    expect(receiver.requestsByConnection()).toEqual([5])
  })

  test('carries one request at a time', async () => {
    receiver.respond((_request, response) => void setTimeout(() => response.end('ok'), 20))
    for (const sideBySide of [20, 20, 1, 20]) await Promise.all(Array.from({ length: sideBySide }, () => post()))
    const counts = receiver.requestsByConnection()
    expect(counts.toSorted((a, b) => a - b)).toEqual([...Array.from({ length: 19 }, () => 3), 4])
    expect(receiver.mostAtOnce).toBe(1)
  })

  test('is closed at the end of its turn, and another turn has its own', async () => {
    await post()
    const closed = once(receiver.sockets[0] as Socket, 'close')
    await connections.close()
    await closed
    connections = http.openConnections()
    await post()
    expect(receiver.requestsByConnection()).toEqual([1, 1])
  })

  test('of a request that outlasts its turn is closed with the response', async () => {
    receiver.respond((_request, response) => void setTimeout(() => response.end('late'), 50))
    const outcome = post()
    await receiver.connected()
    const closed = once(receiver.sockets[0] as Socket, 'close')
    await connections.close()
    expect(await outcome).toMatchObject({ status: 200, body: 'late', error: null })
    await closed
  })

  test('that is idle for half a second is closed, and the next request has another', async () => {
    await post()
    const startedAt = performance.now()
    await once(receiver.sockets[0] as Socket, 'close')
    expect(performance.now() - startedAt).toBeGreaterThan(400)
    expect(await post()).toMatchObject({ status: 200 })
    expect(receiver.requestsByConnection()).toEqual([1, 1])
  })

  test('that is idle for half a second is not reused, even if the event loop was blocked meanwhile', async () => {
    await post()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 510)
    await post()
    expect(receiver.requestsByConnection()).toEqual([1, 1])
  })

  test('to one origin carries no request to another', async () => {
    await post()
    const other = await startReceiver()
    await connections.post(other.url, { headers: {}, body: '' })
    expect([receiver.requestsByConnection(), other.requestsByConnection()]).toEqual([[1], [1]])
    await other.close()
  })

  test.each([
    ['Connection: close', { connection: 'close' }],
    ['an idle timeout of two seconds', { connection: 'keep-alive', 'keep-alive': 'timeout=2' }],
    ['an idle timeout of one second', { connection: 'keep-alive', 'keep-alive': 'timeout=1, max=100' }],
    ['no idle time at all', { connection: 'keep-alive', 'keep-alive': 'timeout=0' }],
  ])('is not reused after a response with %s', async (_what, headers) => {
    receiver.respond((_request, response) => void response.writeHead(200, headers).end('ok'))
    for (let n = 0; n < 3; n += 1) expect(await post()).toMatchObject({ status: 200, body: 'ok' })
    expect(receiver.requestsByConnection()).toEqual([1, 1, 1])
  })

  test.each([
    [200, 'ok'],
    [204, ''],
    [302, ''],
    [500, 'why'],
  ])('is reused after a complete response of %d', async (status, body) => {
    const headers = { connection: 'keep-alive', 'keep-alive': 'timeout=5' }
    receiver.respond((_request, response) => void response.writeHead(status, headers).end(body))
    for (let n = 0; n < 3; n += 1) expect(await post()).toMatchObject({ status, body })
    expect(receiver.requestsByConnection()).toEqual([3])
  })

  test.each([
    ['is longer than 64 KiB', (response: ServerResponse) => void response.end('x'.repeat(65_537))],
    ['breaks off', (response: ServerResponse) => void response.write('x', () => response.destroy())],
    [
      'has no end but that of the connection',
      (response: ServerResponse) => {
        response.socket?.end('HTTP/1.1 200 OK\r\n\r\nok')
      },
    ],
    [
      'is followed by bytes that nothing asked for',
      (response: ServerResponse) => {
        response.socket?.write(
          'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n',
        )
      },
    ],
  ])('is not reused after a body that %s', async (_what, respond) => {
    receiver.respond((_request, response) => respond(response))
    for (let n = 0; n < 3; n += 1) expect(await post()).toMatchObject({ status: 200, error: null })
    expect(receiver.requestsByConnection()).toEqual([1, 1, 1])
  })

  test('that the receiver closed while it was idle costs no attempt', async () => {
    for (const close of ['end', 'destroy', 'resetAndDestroy'] as const) {
      await post()
      const socket = receiver.sockets.at(-1) as Socket
      const closed = once(socket, 'close')
      socket[close]()
      await closed
      await new Promise((resolve) => setImmediate(resolve))
      expect(await post()).toMatchObject({ status: 200, error: null, isResetOnReusedConnection: false })
    }
    expect(receiver.ids).toHaveLength(new Set(receiver.ids).size)
  })
})

describe('a receiver that resets a connection at the worst moment gets no request twice', () => {
  const endings = {
    'closes it': (socket: Socket) => void socket.end(),
    'destroys it': (socket: Socket) => void socket.destroy(),
    'resets it': (socket: Socket) => void socket.resetAndDestroy(),
  }
  const moments = {
    'at the head of a request': (_request: IncomingMessage, end: () => void) => end(),
    'amid a request': (request: IncomingMessage, end: () => void) => void request.once('data', end),
    'after a request': (request: IncomingMessage, end: () => void) => void request.resume().once('end', end),
  }
  const cases = Object.keys(endings).flatMap((ending) =>
    Object.keys(moments).map((moment) => [ending, moment] as const),
  )

  test.each(cases)('%s %s', async (ending, moment) => {
    const endSocket = endings[ending as keyof typeof endings]
    const waitFor = moments[moment as keyof typeof moments]
    // The first request of a connection has a response, the second none.
    receiver.respond((request, response) => {
      if (receiver.countOf(request.socket) === 1) return void request.resume().once('end', () => response.end('ok'))
      waitFor(request, () => endSocket(request.socket))
    })
    const outcomes = []
    for (let round = 0; round < 6; round += 1) {
      outcomes.push(...(await Promise.all(Array.from({ length: 10 }, () => post('x'.repeat(300_000))))))
    }
    const failed = outcomes.filter(({ error }) => error !== null)
    expect(failed).toHaveLength(30)
    for (const outcome of failed) {
      expect(outcome).toMatchObject({
        status: null,
        body: null,
        error: expect.stringMatching(/^The connection failed \((ECONNRESET|EPIPE|UND_ERR_SOCKET)\)$/),
        isResetOnReusedConnection: true,
      })
    }
    expect(receiver.ids).toHaveLength(60)
    expect(new Set(receiver.ids).size).toBe(60)
    expect(receiver.requestsByConnection()).toEqual(Array.from({ length: 30 }, () => 2))
  })

  test('a reset of the first request of a connection is no reset of a reused one', async () => {
    receiver.respond((request) => void request.socket.resetAndDestroy())
    expect(await post()).toMatchObject({ status: null, isResetOnReusedConnection: false })
    expect(receiver.ids).toHaveLength(1)
  })
})

type Respond = (request: IncomingMessage, response: ServerResponse) => void
type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** Records the id of each request as soon as its head has come. */
async function startReceiver() {
  const counts = new Map<Socket, number>()
  const busy = new Map<Socket, number>()
  const ids: string[] = []
  let mostAtOnce = 0
  let respond: Respond = (_request, response) => void response.end('ok')
  const server = createServer((request, response) => {
    const { socket } = request
    const atOnce = (busy.get(socket) ?? 0) + 1
    mostAtOnce = Math.max(mostAtOnce, atOnce)
    busy.set(socket, atOnce)
    response.once('finish', () => busy.set(socket, (busy.get(socket) ?? 0) - 1))
    counts.set(socket, (counts.get(socket) ?? 0) + 1)
    ids.push(String(request.headers['webhook-id']))
    respond(request, response)
  })
  const connected = once(server, 'connection')
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const sockets: Socket[] = []
  server.on('connection', (socket) => sockets.push(socket))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ids,
    sockets,
    connected: () => connected,
    countOf: (socket: Socket) => counts.get(socket) ?? 0,
    requestsByConnection: () => [...counts.values()],
    get mostAtOnce() {
      return mostAtOnce
    },
    respond: (next: Respond) => void (respond = next),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
