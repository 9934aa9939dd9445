import { once } from 'node:events'
import { type AddressInfo, createServer, Server } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../test/fixtures.ts'
import { listenWhenFree } from './listen-when-free.ts'

const host = '127.0.0.1'
let owner: Server
let port: number
beforeEach(async () => {
  owner = createServer().listen(0, host)
  await once(owner, 'listening')
  port = (owner.address() as AddressInfo).port
})
afterEach(() => void owner.close())

/** A server that counts its attempts to listen, each of which may be told to fail. */
function createCountingServer(failures: Record<number, string> = {}) {
  const server = createServer()
  const state = { server, attempts: 0, maxListeners: 0 }
  const listen = (options: object) => {
    state.attempts += 1
    state.maxListeners = Math.max(state.maxListeners, server.listenerCount('listening'))
    const code = failures[state.attempts]
    if (code === undefined) return Server.prototype.listen.call(server, options)
    queueMicrotask(() => server.emit('error', Object.assign(new Error(code), { code })))
    return server
  }
  Object.assign(server, { listen })
  return state
}

test('a port in use is tried again, without more listeners each time', async () => {
  const state = createCountingServer()
  const { stop } = await listenWhenFree(state.server, { host, port, retryMs: 1, log: silentLog })
  await expect.poll(() => state.attempts).toBeGreaterThan(5)
  owner.close()
  await expect.poll(() => state.server.listening).toBe(true)
  expect(state.maxListeners).toBe(1)
  await stop()
  state.server.close()
})

test('an attempt that fails for another reason ends no retries and no process', async () => {
  const state = createCountingServer({ 2: 'EACCES', 3: 'EADDRNOTAVAIL' })
  const { stop } = await listenWhenFree(state.server, { host, port, retryMs: 1, log: silentLog })
  await expect.poll(() => state.attempts).toBeGreaterThan(4)
  await stop()
  expect(state.server.listening).toBe(false)
})

test('fails at once if it can never listen', async () => {
  const { server } = createCountingServer({ 1: 'EACCES' })
  await expect(listenWhenFree(server, { host, port, retryMs: 1, log: silentLog })).rejects.toThrow('EACCES')
})
