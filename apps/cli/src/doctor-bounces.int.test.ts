import { type AddressInfo, createServer } from 'node:net'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { expect, test } from 'vitest'
import { runDoctor } from './testing.ts'

const dns = useForFile(() => startNameServer({ denyUnknown: true }))
const examine = async (env: Record<string, string>) => (await runDoctor(env, dns.address))('Bounces')
const domain = 'bounces.example.com'

test('Bounces: without a return path and a port, there is nothing to check', async () => {
  expect(await examine({})).toEqual([])
  expect(await examine({ BOUNCE_PORT: '2525' })).toEqual(['warn: no email has a return path'])
})

test('Bounces: checks the MX record of the return path', async () => {
  const receiver = 'warn: no worker receives bounces'
  const findings = () => examine({ RETURN_PATH_DOMAIN: domain })
  expect(await findings()).toEqual([`fail: ${domain} has no MX record, so bounces are lost`, receiver])
  dns.setExchanges(domain, 'mx.example.com')
  expect(await findings()).toEqual([`ok: ${domain} has the mail server mx.example.com`, receiver])
})

test('Bounces: reads the greeting of the worker that listens', async () => {
  dns.setExchanges(domain, 'mx.example.com')
  let greeting = '220 mx ESMTP\r\n'
  const server = createServer((socket) => socket.on('error', () => {}).end(greeting))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const findings = async () =>
    (await examine({ RETURN_PATH_DOMAIN: domain, BOUNCE_PORT: String(port), BOUNCE_HOST: '0.0.0.0' })).slice(1)
  expect(await findings()).toEqual([`ok: 0.0.0.0:${port} receives bounces`])
  greeting = 'HTTP/1.1 400 Bad Request\r\n'
  expect(await findings()).toEqual([`fail: 0.0.0.0:${port} is not the port of a worker`])
  await new Promise((resolve) => server.close(resolve))
  expect(await findings()).toEqual([`fail: 0.0.0.0:${port}: connect ECONNREFUSED 127.0.0.1:${port}`])
})
