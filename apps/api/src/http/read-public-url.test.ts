import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { foreignCertificate, testKey } from '@rapport/testing/network/certificates.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createUrlReader } from './read-public-url.ts'

const paths: string[] = []
const server = createServer({ key: testKey, cert: foreignCertificate }, ({ url = '' }, response) => {
  paths.push(url)
  if (url === '/redirect') response.writeHead(302, { location: '/certificate.pem' }).end()
  else if (url === '/failure') response.writeHead(500).end()
  else if (url === '/missing.pem') response.writeHead(404).end()
  else if (url === '/long') response.end('x'.repeat(65_537))
  else if (url !== '/silent') response.end('text')
})
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => {
  server.close().closeAllConnections()
})
beforeEach(() => {
  paths.splice(0)
})

const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
const readerWith = (allowedNetworks: string[], timeoutMs = 20_000) =>
  createUrlReader({ timeoutMs, connection: { resolve, ca: foreignCertificate }, allowedNetworks })
const urlOf = (path: string) => `https://elsewhere.example:${(server.address() as AddressInfo).port}${path}`
const unavailable = { code: 'unavailable' }

test('reads a URL, and a certificate once', async () => {
  const read = readerWith(['127.0.0.0/8'])
  for (const path of ['/?a=1', '/?a=1', '/certificate.pem', '/certificate.pem'])
    expect(await read(urlOf(path))).toBe('text')
  expect(paths).toEqual(['/?a=1', '/?a=1', '/certificate.pem'])
})

test('a certificate takes the place of the oldest of fifty', async () => {
  const read = readerWith(['127.0.0.0/8'])
  const names = Array.from({ length: 51 }, (_, at) => `/${at}.pem`)
  for (const path of [...names, '/50.pem', '/1.pem', '/0.pem']) await read(urlOf(path))
  expect(paths).toEqual([...names, '/0.pem'])
})

test('follows no redirect, and returns nothing for a refusal', async () => {
  const read = readerWith(['127.0.0.0/8'])
  for (const path of ['/redirect', '/missing.pem']) expect(await read(urlOf(path))).toBeUndefined()
  expect(paths).toEqual(['/redirect', '/missing.pem'])
})

test('is unavailable after a failure, a timeout, or with a wrong certificate', async () => {
  for (const path of ['/failure', '/long'])
    await expect(readerWith(['127.0.0.0/8'])(urlOf(path))).rejects.toMatchObject(unavailable)
  await expect(readerWith(['127.0.0.0/8'], 500)(urlOf('/silent'))).rejects.toMatchObject(unavailable)
  paths.splice(0)
  await expect(
    createUrlReader({ timeoutMs: 20_000, connection: { resolve }, allowedNetworks: ['127.0.0.0/8'] })(urlOf('/')),
  ).rejects.toMatchObject(unavailable)
  expect(paths).toEqual([])
})

test('connects to no private address', async () => {
  const address = urlOf('/').replace('elsewhere.example', '127.0.0.1')
  for (const url of [urlOf('/'), address]) await expect(readerWith([])(url)).rejects.toMatchObject(unavailable)
  expect(paths).toEqual([])
})
