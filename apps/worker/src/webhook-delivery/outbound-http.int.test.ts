import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type ReceiverResponse, type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openOutboundHttp, type OutboundHttp } from './outbound-http.ts'

let http: OutboundHttp
let guarded: OutboundHttp
let receiver: HttpReceiver
beforeAll(() => {
  http = openOutboundHttp(['127.0.0.0/8'])
  guarded = openOutboundHttp([])
})
afterAll(async () => {
  await http.close()
  await guarded.close()
})

const message = { headers: { 'content-type': 'application/json', 'x-a': 'b' }, body: '{"é":1}' }
const post = (url: string, by = http) => by.openConnections().post(url, message)

describe('an attempt', () => {
  beforeEach(async () => {
    receiver = await startHttpReceiver()
  })
  afterEach(() => receiver.close())
  const answering = async (answer: ReceiverResponse) => {
    receiver.respondWith(() => answer)
    return post(`${receiver.url}/hook?a=1`)
  }

  test('posts the exact body and headers, once, on a connection of its own', async () => {
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

  test.each([200, 201, 202, 204, 299])('answered %d has succeeded', async (status) => {
    expect(await answering({ status })).toMatchObject({ status, error: null })
  })

  test.each([400, 401, 404, 410, 429, 500, 503, 599])('answered %d has failed, and is not repeated', async (status) => {
    const outcome = await answering({ status, body: 'why', headers: { 'retry-after': '0' } })
    expect(outcome).toMatchObject({ status, body: 'why', error: `The receiver answered ${status}` })
    expect(receiver.requests).toHaveLength(1)
  })

  test.each([300, 301, 302, 303, 307, 308])('answered %d is not led elsewhere', async (status) => {
    const trap = await startHttpReceiver()
    const outcome = await answering({ status, headers: { location: `${trap.url}/trap` } })
    expect(outcome).toMatchObject({ status, error: 'Redirects are not followed' })
    expect(trap.requests).toEqual([])
    await trap.close()
  })

  test('keeps the first 4 KiB of the answer, and reads no more than 64 KiB of a gigabyte', async () => {
    let sent = 0
    async function* gigabyte() {
      for (; sent < 1_000_000_000; sent += 65_536) yield Buffer.alloc(65_536, 'x')
    }
    const before = process.memoryUsage().rss
    const outcome = await answering({ body: gigabyte() })
    expect(outcome).toMatchObject({ status: 200, error: null, body: 'x'.repeat(4_096) })
    // What the sockets buffer on both sides is on top.
    expect(sent).toBeLessThan(20_000_000)
    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000)
  })

  test('keeps of an answer what a database takes: no NUL byte, valid Unicode, even where it is cut', async () => {
    const outcome = await answering({ body: Buffer.concat([Buffer.from('a\u0000b\u0000'), Buffer.from([0xff, 0xc3])]) })
    expect(outcome.body).toBe('a\uFFFDb\uFFFD\uFFFD\uFFFD')
    const cut = await answering({ body: `${'x'.repeat(4_094)}🦉` })
    expect(cut.body?.isWellFormed()).toBe(true)
    expect(cut.body?.startsWith('x'.repeat(4_094))).toBe(true)
  })

  test('unpacks nothing: a zip bomb stays small', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    const outcome = await answering({ body: bomb, headers: { 'content-encoding': 'gzip' } })
    expect(outcome).toMatchObject({ status: 200, error: null })
    expect(outcome.body?.length).toBeLessThanOrEqual(4_096)
  })

  test('that is cut off before an answer has failed', async () => {
    const outcome = await answering({ fault: 'disconnect' })
    expect(outcome).toMatchObject({ status: null, body: null, error: expect.stringMatching(/^The connection failed/) })
    expect(receiver.requests).toHaveLength(1)
  })

  test('whose answer is cut off in the middle keeps the status, and what came', async () => {
    async function* half() {
      yield 'the first half'
      await pause(20)
      throw new Error('cut')
    }
    expect(await answering({ body: half() })).toMatchObject({ status: 200, error: null, body: 'the first half' })
  })

  test('to where nobody listens has failed', async () => {
    await receiver.close()
    expect(await post(receiver.url)).toMatchObject({ status: null, error: 'The connection failed (ECONNREFUSED)' })
  })

  test('to a name that does not exist has failed', async () => {
    expect((await post('http://nobody.invalid/')).error).toMatch(
      /^The name could not be resolved \((ENOTFOUND|EAI_AGAIN)\)$/,
    )
  })

  test.each([
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9\r\n\r\n'],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(200_000)}`],
    ['a giant header', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1_000_000)}\r\n\r\n`],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello'],
  ])('answered with %s has failed', async (_what, answer) => {
    const server = await startRawServer((socket) => void socket.end(answer))
    const outcome = await post(server.url)
    expect(outcome).toMatchObject({ status: null, error: expect.stringMatching(/^The connection failed/) })
    await server.close()
  })
})

describe('an address that is not public', () => {
  let trap: HttpReceiver
  beforeAll(async () => {
    trap = await startHttpReceiver()
  })
  afterAll(() => trap.close())

  test.each(['127.0.0.1', 'localhost', '127.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '[::1]', '0'])(
    '%s is not connected to',
    async (host) => {
      expect(await post(`http://${host}:${trap.port}/`, guarded)).toMatchObject({
        status: null,
        error: 'The address is not public and not allowed',
      })
      expect(trap.requests).toEqual([])
    },
  )

  test('is connected to in an allowed network, by literal and by name, and by no other', async () => {
    expect(await post(trap.url)).toMatchObject({ status: 200 })
    const both = openOutboundHttp(['127.0.0.0/8', '::1/128'])
    expect(await post(`http://localhost:${trap.port}/`, both)).toMatchObject({ status: 200 })
    await both.close()
    const elsewhere = openOutboundHttp(['10.0.0.0/8'])
    expect(await post(trap.url, elsewhere)).toMatchObject({ error: 'The address is not public and not allowed' })
    await elsewhere.close()
    expect(trap.requests).toHaveLength(2)
  })
})

describe.concurrent('after ten seconds in all', { timeout: 20_000 }, () => {
  const soonest = 9_500

  test('a receiver that takes the request and never answers has failed', async () => {
    const server = await startRawServer(() => {})
    const outcome = await post(server.url)
    expect(outcome).toMatchObject({ status: null, error: 'No answer within 10 seconds' })
    expect(outcome.durationMs).toBeGreaterThan(soonest)
    await server.close()
  })

  test('a receiver that drips its headers has failed, though it is never idle', async () => {
    const server = await startRawServer((socket) => drip(socket, 'HTTP/1.1 200 OK\r\n', 'x: y\r\n'))
    const outcome = await post(server.url)
    expect(outcome).toMatchObject({ status: null, error: 'No answer within 10 seconds' })
    await server.close()
  })

  test('a receiver that answers 200 and drips its body has succeeded, and is cut off', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n'
    const server = await startRawServer((socket) => drip(socket, head, '.'))
    const outcome = await post(server.url)
    expect(outcome).toMatchObject({ status: 200, error: null, body: expect.stringMatching(/^\.{5,}$/) })
    expect(outcome.durationMs).toBeGreaterThan(soonest)
    await server.close()
  })
})

async function drip(socket: Socket, head: string, drop: string) {
  socket.write(head)
  while (!socket.destroyed) {
    await pause(200, undefined, { ref: false })
    if (!socket.destroyed) socket.write(drop)
  }
}

/** Answers each request with what `answer` writes, once its body has come. */
async function startRawServer(answer: (socket: Socket) => unknown) {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('data', () => answer(socket))
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
