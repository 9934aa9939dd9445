import { connect, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { handleError } from '../error-handler.ts'
import { slowRequests } from '../body/slow-requests.ts'
import { readUpload } from './read-upload.ts'

const bodyTimeoutMs = 150
let app: FastifyInstance
let port: number
let stopping: AbortController
let received: number
const sockets: Socket[] = []

beforeEach(() => startApp(bodyTimeoutMs))

async function startApp(timeoutMs: number) {
  stopping = new AbortController()
  received = 0
  app = Fastify()
  app.decorate('errorDocs', '')
  app.setErrorHandler(handleError)
  app.register(slowRequests, { timeoutMs })
  app.post('/json', async () => 'ok')
  await app.register(async (scope) => {
    scope.addContentTypeParser('text/csv', async () => undefined)
    scope.post('/upload/:idleMs', { config: { streamsBody: true } }, async (request) => {
      const idleMs = Number((request.params as { idleMs: string }).idleMs)
      for await (const piece of readUpload(request, { coding: 'identity', stopping: stopping.signal, idleMs }))
        received += piece.length
      return { received }
    })
    scope.post('/refuse', { config: { streamsBody: true } }, async (_request, reply) => reply.code(403).send({}))
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  port = (app.server.address() as AddressInfo).port
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await app.close()
})

test('a slow body gets a 408', async () => {
  const client = open('/json', 'application/json')
  client.send('{')
  expect(await client.ended).toMatch(/^HTTP\/1.1 408 .*"statusCode":408/s)
})

test('an upload has no time limit while data keeps arriving', async () => {
  const client = open('/upload/20000', 'text/csv')
  for (let round = 0; round < 10; round += 1) {
    client.send('x'.repeat(1_000))
    await sleep(bodyTimeoutMs / 5)
  }
  client.finish()
  expect(await client.response(/"received":10000/)).toMatch(/^HTTP\/1.1 200/)
})

test('a stalled upload gets a 408', async () => {
  const client = open('/upload/80', 'text/csv')
  client.send('x')
  expect(await client.response(/}/)).toMatch(/^HTTP\/1.1 408 .*No data received for 0.08 seconds/s)
})

test('an upload that is still running at shutdown gets a 503', async () => {
  const client = open('/upload/20000', 'text/csv')
  client.send('x')
  setTimeout(() => stopping.abort(), 20)
  expect(await client.response(/}/)).toMatch(/^HTTP\/1.1 503 .*try again/s)
})

test('discards the rest of a rejected upload for a limited time', async () => {
  const client = open('/refuse', 'text/csv')
  client.send('x')
  expect(await client.response(/{}/)).toMatch(/^HTTP\/1.1 403/)
  const drip = setInterval(() => client.send('x'), 10)
  await client.ended
  clearInterval(drip)
})

test('keeps the connection open after a rejected upload that was sent completely', async () => {
  await app.close()
  await startApp(20_000)
  const client = open('/refuse', 'text/csv')
  await client.response(/{}/)
  client.send('x'.repeat(200_000))
  client.finish()
  client.write('POST /json HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n')
  expect(await client.response(/ok/)).toContain('HTTP/1.1 200')
})

function open(path: string, type: string) {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  socket.on('error', () => {})
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(text)))
  const write = (data: string) => socket.write(data)
  write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`)
  return {
    ended,
    write,
    send: (data: string) => write(`${data.length.toString(16)}\r\n${data}\r\n`),
    finish: () => write('0\r\n\r\n'),
    async response(pattern: RegExp) {
      while (!pattern.test(text)) await sleep(5)
      return text
    },
  }
}
