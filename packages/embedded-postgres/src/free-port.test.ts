import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { findFreePort } from './free-port.ts'

test.each(['127.0.0.1', '::1'])('skips a port that is in use only on %s', async (host) => {
  const port = await listen(host)
  expect(await findFreePort(port)).toBeGreaterThan(port)
})

test('returns the requested port if it is free', async () => {
  const port = await findFreePort(21_000)
  expect(await findFreePort(port)).toBe(port)
})

test('returns any free port for 0', async () => {
  expect(await findFreePort(0)).toBeGreaterThan(0)
})

async function listen(host: string): Promise<number> {
  const server = createServer()
  onTestFinished(() => void server.close())
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, () => resolve((server.address() as AddressInfo).port))
  })
}
