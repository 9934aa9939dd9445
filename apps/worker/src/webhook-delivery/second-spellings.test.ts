/** Kinds of receivers from public bug reports, by their numbers, each in other spellings than the report. */
import { type AddressInfo, createServer } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { defaultTimings } from '../process/worker-timings.ts'
import { openOutboundHttp } from './outbound-http.ts'

const http = openOutboundHttp(['127.0.0.0/8'], { timings: defaultTimings })
afterAll(() => http.close())

/** Posts to a server that responds with these bytes. */
async function deliver(response: string | Buffer, scheme = 'http') {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(response))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { status, body, error } = await http
    .openConnections()
    .post(`${scheme}://127.0.0.1:${port}/`, { headers: {}, body: '{}' })
  server.close()
  return { status, body, error }
}
const respond = (header: string, body: Buffer | string = 'thank you') =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\n${header}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`),
    Buffer.from(body),
  ])
const delivered = { status: 200, body: 'thank you', error: null }

test.each([
  ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n'],
  ['102 Processing, twice', 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'],
  ['100 without a phrase', 'HTTP/1.1 100\r\n\r\n'],
  ['100 with the headers of a response', 'HTTP/1.1 100 Continue\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'],
])('24: a response after %s is delivered', async (_name, interim) => {
  expect(await deliver(Buffer.concat([Buffer.from(interim), respond('')]))).toEqual(delivered)
})

test.each([
  ['br', brotliCompressSync('thank you'), '(compressed with br)'],
  ['X-GZIP', gzipSync('thank you'), '(compressed with X-GZIP)'],
  ['', gzipSync('thank you'), '(compressed with gzip)'],
  ['UTF-8', 'thank you', 'thank you'],
  ['none', 'thank you', 'thank you'],
])('25: a response with the encoding %j is named, or readable', async (encoding, content, body) => {
  expect(await deliver(respond(encoding && `Content-Encoding: ${encoding}\r\n`, content))).toEqual({
    ...delivered,
    body,
  })
})

test.each([
  ['HTML alone', '<html><body>Hello</body></html>'],
  ['the greeting of a mail server', '220 mx.example ESMTP\r\n'],
  ['HTTP/2', Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])],
  ['TLS', Buffer.from([0x15, 3, 1, 0, 2, 2, 80])],
  ['line feeds alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
])('26: a response that is %s is named as such', async (_name, response) => {
  expect((await deliver(response)).error).toMatch(/^The response is not valid HTTP/)
})

test('an https URL of a server without TLS is no certificate that was rejected', async () => {
  expect((await deliver(respond(''), 'https')).error).toBe(
    'The TLS handshake failed (ERR_SSL_WRONG_VERSION_NUMBER): the port may not speak HTTPS',
  )
})
