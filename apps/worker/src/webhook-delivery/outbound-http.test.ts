import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type ReceiverResponse, type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { defaultTimings } from '../process/worker-timings.ts'
import { openOutboundHttp, type OutboundHttp } from './outbound-http.ts'

let http: OutboundHttp
let guarded: OutboundHttp
let receiver: HttpReceiver
beforeAll(() => {
  http = openOutboundHttp(['127.0.0.0/8'], { timings: defaultTimings })
  guarded = openOutboundHttp([], { timings: defaultTimings })
})
afterAll(async () => {
  await http.close()
  await guarded.close()
})

const message = { headers: { 'content-type': 'application/json', 'x-a': 'b' }, body: '{"é":1}' }
const post = (url: string, by = http) => by.openConnections().post(url, message)

async function sendBytes(socket: Socket, text: string, isSlow: boolean): Promise<void> {
  if (!isSlow) return void socket.end(text)
  socket.setNoDelay()
  for (const byte of text) {
    socket.write(byte)
    await pause(1)
  }
  socket.end()
}

describe('an attempt', () => {
  beforeEach(async () => {
    receiver = await startHttpReceiver()
  })
  afterEach(() => receiver.close())
  const postWith = async (response: ReceiverResponse) => {
    receiver.respondWith(() => response)
    return post(`${receiver.url}/hook?a=1`)
  }

  test('sends the exact body and headers once, on a new connection', async () => {
    expect(await post(`${receiver.url}/hook?a=1`)).toEqual({
      status: 200,
      body: '',
      error: null,
      durationMs: expect.any(Number),
    })
    await post(`${receiver.url}/hook?a=1`)
    expect(receiver.requests).toHaveLength(2)
    for (const request of receiver.requests) {
      expect(request).toMatchObject({ method: 'POST', url: '/hook?a=1', headers: { 'x-a': 'b', connection: 'close' } })
      expect(request.body.toString()).toBe(message.body)
    }
  })

  test.each([200, 201, 202, 204, 299])('succeeds with a response of %d', async (status) => {
    expect(await postWith({ status })).toMatchObject({ status, error: null })
  })

  test.each([400, 401, 404, 410, 429, 500, 503, 599])(
    'fails with a response of %d and is not retried',
    async (status) => {
      const outcome = await postWith({ status, body: 'why', headers: { 'retry-after': '0' } })
      expect(outcome).toMatchObject({ status, body: 'why', error: `The receiver responded with ${status}` })
      expect(receiver.requests).toHaveLength(1)
    },
  )

  test.each([300, 301, 302, 303, 307, 308])('does not follow a redirect with %d', async (status) => {
    const trap = await startHttpReceiver()
    const outcome = await postWith({ status, headers: { location: `${trap.url}/trap` } })
    expect(outcome).toMatchObject({ status, error: 'Redirects are not followed' })
    expect(trap.requests).toEqual([])
    await trap.close()
  })

  test('keeps the first 4 KiB of the response and reads at most 64 KiB', async () => {
    let sent = 0
    async function* gigabyte() {
      for (; sent < 1_000_000_000; sent += 65_536) yield Buffer.alloc(65_536, 'x')
    }
    const before = process.memoryUsage().rss
    const outcome = await postWith({ body: gigabyte() })
    expect(outcome).toMatchObject({ status: 200, error: null, body: 'x'.repeat(4_096) })
    // The socket buffers of both sides hold more than the 64 KiB.
    expect(sent).toBeLessThan(20_000_000)
    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000)
  })

  test('keeps the response as valid Unicode without NUL bytes, even if truncated', async () => {
    const outcome = await postWith({ body: Buffer.concat([Buffer.from('a\u0000b\u0000'), Buffer.from([0xff, 0xc3])]) })
    expect(outcome.body).toBe('a\uFFFDb\uFFFD\uFFFD\uFFFD')
    const truncated = await postWith({ body: `${'x'.repeat(4_094)}🦉` })
    expect(truncated.body?.isWellFormed()).toBe(true)
    expect(truncated.body?.startsWith('x'.repeat(4_094))).toBe(true)
  })

  test('does not decompress the response, so that a zip bomb stays small', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    const outcome = await postWith({ body: bomb, headers: { 'content-encoding': 'gzip' } })
    expect(outcome).toMatchObject({ status: 200, error: null })
    expect(outcome.body?.length).toBeLessThanOrEqual(4_096)
  })

  test('fails if the connection is closed before the response', async () => {
    const outcome = await postWith({ fault: 'disconnect' })
    expect(outcome).toMatchObject({ status: null, body: null, error: expect.stringMatching(/^The connection failed/) })
    expect(receiver.requests).toHaveLength(1)
  })

  test('keeps the status and the received part of a truncated response', async () => {
    async function* half() {
      yield 'the first half'
      await pause(20)
      throw new Error('connection closed')
    }
    expect(await postWith({ body: half() })).toMatchObject({ status: 200, error: null, body: 'the first half' })
  })

  test('fails if the connection is refused', async () => {
    await receiver.close()
    expect(await post(receiver.url)).toMatchObject({ status: null, error: 'The connection failed (ECONNREFUSED)' })
  })

  test('fails if the hostname does not exist', async () => {
    expect((await post('http://unknown.invalid/')).error).toMatch(
      /^The hostname could not be resolved \((ENOTFOUND|EAI_AGAIN)\)$/,
    )
  })

  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const early = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
  test.each([
    ['no HTTP header', 'SSH-2.0-OpenSSH_9\r\n\r\n'],
    ['a header without a colon', 'HTTP/1.1 200 OK\r\nGarbage\r\ncontent-length: 2\r\n\r\nok'],
    ['an interim response that does not end', 'HTTP/1.1 100 Continue\r\n'],
    ['too many interim responses', early.repeat(1_000) + ok],
    ['too many headers', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(200_000)}`],
    ['a header that is too long', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1_000_000)}\r\n\r\n`],
    ['two Content-Length headers', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello'],
  ])('fails with a response that has %s', async (name, response) => {
    const server = await startRawServer((socket) => void socket.end(response))
    const outcome = await post(server.url)
    expect(outcome.status).toBe(null)
    expect(outcome.error).toMatch(
      name.includes('does not end')
        ? /^The connection failed/
        : /^The response is not valid HTTP|^The headers of the response/,
    )
    await server.close()
  })

  test.each([
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['100 Continue of HTTP/1.0, with a header', 'HTTP/1.0 100 Continue\r\nx: y\r\n\r\n'],
    ['several interim responses', `HTTP/1.1 100 Continue\r\n\r\n${early}HTTP/1.1 100 Continue\r\n\r\n${early}`],
  ])('succeeds after %s, at once and byte for byte', async (_name, interim) => {
    for (const isSlow of [false, true]) {
      const server = await startRawServer((socket) => void sendBytes(socket, interim + ok, isSlow))
      expect(await post(server.url)).toMatchObject({ status: 200, error: null, body: 'ok' })
      await server.close()
    }
  })

  test('asks for a response that is not compressed, and names one that is', async () => {
    const outcome = await postWith({ body: gzipSync('thank you'), headers: { 'content-encoding': 'gzip' } })
    expect(outcome).toMatchObject({ status: 200, error: null, body: '(compressed with gzip)' })
    expect(receiver.requests[0]?.headers).toMatchObject({ 'accept-encoding': 'identity' })
  })
})

describe('a private address', () => {
  let trap: HttpReceiver
  beforeAll(async () => {
    trap = await startHttpReceiver()
  })
  afterAll(() => trap.close())

  test.each(['127.0.0.1', 'localhost', '127.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '[::1]', '0'])(
    '%s is rejected without a connection',
    async (host) => {
      expect(await post(`http://${host}:${trap.port}/`, guarded)).toMatchObject({
        status: null,
        error: 'The address is not public and not allowed',
      })
      expect(trap.requests).toEqual([])
    },
  )

  test('is accepted by address and by hostname only if its network is allowed', async () => {
    expect(await post(trap.url)).toMatchObject({ status: 200 })
    const both = openOutboundHttp(['127.0.0.0/8', '::1/128'], { timings: defaultTimings })
    expect(await post(`http://localhost:${trap.port}/`, both)).toMatchObject({ status: 200 })
    await both.close()
    const otherNetwork = openOutboundHttp(['10.0.0.0/8'], { timings: defaultTimings })
    expect(await post(trap.url, otherNetwork)).toMatchObject({ error: 'The address is not public and not allowed' })
    await otherNetwork.close()
    expect(trap.requests).toHaveLength(2)
  })
})

describe('a refused port of this machine', () => {
  let server: HttpReceiver
  let refusing: OutboundHttp
  beforeAll(async () => {
    server = await startHttpReceiver()
    refusing = openOutboundHttp(['127.0.0.0/8', '::1/128'], { timings: defaultTimings, refusedPorts: [server.port] })
  })
  afterAll(async () => {
    await refusing.close()
    await server.close()
  })

  test.each(['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]'])(
    'gets no request to %s, although loopback is allowed',
    async (host) => {
      expect(await post(`http://${host}:${server.port}/`, refusing)).toMatchObject({
        status: null,
        error: 'The address is not public and not allowed',
      })
      expect(server.requests).toEqual([])
    },
  )

  test('leaves other ports open', async () => {
    const other = await startHttpReceiver()
    expect(await post(other.url, refusing)).toMatchObject({ status: 200 })
    await other.close()
  })
})

describe('the timeout of a request', () => {
  const requestTimeoutMs = 500
  let impatient: OutboundHttp
  beforeAll(() => {
    impatient = openOutboundHttp(['127.0.0.0/8'], { timings: { ...defaultTimings, requestTimeoutMs } })
  })
  afterAll(() => impatient.close())

  test('fails a request without a response', async () => {
    const server = await startRawServer(() => {})
    const outcome = await post(server.url, impatient)
    expect(outcome).toMatchObject({ status: null, error: 'No response within 0.5 seconds' })
    expect(outcome.durationMs).toBeGreaterThan(requestTimeoutMs - 25)
    await server.close()
  })

  test('fails a request whose response headers arrive slowly', async () => {
    const server = await startRawServer((socket) => sendSlowly(socket, 'HTTP/1.1 200 OK\r\n', 'x: y\r\n'))
    const outcome = await post(server.url, impatient)
    expect(outcome).toMatchObject({ status: null, error: 'No response within 0.5 seconds' })
    await server.close()
  })

  test('truncates a slow body; the request succeeds by its status', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n.'
    const server = await startRawServer((socket) => sendSlowly(socket, head, '.'))
    // Long enough for the head on a busy machine.
    const timings = { ...defaultTimings, requestTimeoutMs: 2_000 }
    const http = openOutboundHttp(['127.0.0.0/8'], { timings })
    const outcome = await post(server.url, http)
    expect(outcome).toMatchObject({ status: 200, error: null, body: expect.stringMatching(/^\.{5,}$/) })
    expect(outcome.durationMs).toBeGreaterThan(timings.requestTimeoutMs - 25)
    await http.close()
    await server.close()
  })
})

async function sendSlowly(socket: Socket, head: string, chunk: string) {
  socket.write(head)
  while (!socket.destroyed) {
    await pause(20, undefined, { ref: false })
    if (!socket.destroyed) socket.write(chunk)
  }
}

/** Calls `respond` for each connection once the first bytes of the request have arrived. */
async function startRawServer(respond: (socket: Socket) => unknown) {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('data', () => respond(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
