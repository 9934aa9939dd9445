import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import sensible from '@fastify/sensible'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { staticResponse } from './static-response.ts'

const text = 'a text that is long enough to be compressed '.repeat(100)

async function start(build: () => string | Promise<string> = () => text) {
  const app = Fastify()
  onTestFinished(() => app.close())
  await app.register(sensible)
  app.get('/text', staticResponse({ type: 'text/plain; charset=utf-8', headers: { 'x-policy': 'strict' }, build }))
  return (headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    app.inject({ method, url: '/text', headers })
}

test.each([
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip;q=1.0, br;q=0.5', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['*', 'br'],
  ['identity', undefined],
  ['zstd', undefined],
  ['', undefined],
  [';;q=,,', undefined],
])('with accept-encoding "%s" the body is sent as %s', async (accepted, encoding) => {
  const get = await start()
  const response = await get({ 'accept-encoding': accepted })
  expect(response.statusCode).toBe(200)
  expect(response.headers['content-encoding']).toBe(encoding)
  const decode = encoding === 'br' ? brotliDecompressSync : encoding === 'gzip' ? gunzipSync : (body: Buffer) => body
  expect(decode(response.rawPayload).toString()).toBe(text)
  expect(response.rawPayload.length < text.length / 10).toBe(encoding !== undefined)
  expect(response.headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'public, no-cache',
    'content-length': String(response.rawPayload.length),
    vary: 'accept-encoding',
    'x-policy': 'strict',
  })
})

test('each encoding has a strong ETag of its own, the same in every process', async () => {
  const [get, getOfAnotherProcess] = [await start(), await start()]
  const etags = await Promise.all(
    ['identity', 'gzip', 'br'].map(async (encoding) => (await get({ 'accept-encoding': encoding })).headers.etag),
  )
  expect(new Set(etags).size).toBe(3)
  for (const etag of etags) expect(etag).toMatch(/^"[\w-]+"$/)
  expect((await getOfAnotherProcess()).headers.etag).toBe(etags[0])
})

test('a client that has the body gets an empty 304', async () => {
  const get = await start()
  const headers = { 'accept-encoding': 'br' }
  const { etag } = (await get(headers)).headers
  for (const known of [`${etag}`, `W/${etag}`, `"another", ${etag}`, '*']) {
    const response = await get({ ...headers, 'if-none-match': known })
    expect([known, response.statusCode, response.body]).toEqual([known, 304, ''])
    expect(response.headers).toMatchObject({ etag, vary: 'accept-encoding', 'x-policy': 'strict' })
  }
  for (const known of ['"another"', `${etag}x`, '']) {
    expect([known, (await get({ ...headers, 'if-none-match': known })).statusCode]).toEqual([known, 200])
  }
})

test('HEAD has the headers of GET and no body', async () => {
  const get = await start()
  const [{ headers }, head] = [await get(), await get({}, 'HEAD')]
  expect(head.body).toBe('')
  expect({ ...head.headers, date: '' }).toEqual({ ...headers, date: '' })
})

test('concurrent and later requests share one build, and a failed build is repeated', async () => {
  let builds = 0
  const get = await start(async () => {
    builds += 1
    if (builds === 1) throw new Error('not yet')
    return text
  })
  expect((await get()).statusCode).toBe(500)
  const responses = await Promise.all(Array.from({ length: 20 }, () => get()))
  expect(new Set(responses.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
  await get()
  expect(builds).toBe(2)
})
