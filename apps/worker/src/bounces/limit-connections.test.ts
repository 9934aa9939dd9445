/** The connections are real ones of this machine, with the addresses of others. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { limitConnections } from './limit-connections.ts'

interface Peer {
  remoteAddress: string
  remotePort: number
}

const localAddress = '2001:db8:ffff::25'
const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function openLimited(commandMs = 60_000) {
  const server = new Server()
  const limits = limitConnections(server, { commandMs, messageMs: 60_000, connectionMs: 60_000 })
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  closing.push(() => listener.close())
  const { port } = listener.address() as AddressInfo

  async function connectFrom(peers: readonly Peer[]): Promise<Socket[]> {
    const sockets: Socket[] = []
    for (const peer of peers) {
      const accepted = once(listener, 'connection')
      const client = connect(port, '127.0.0.1').on('error', () => {})
      const [socket] = (await accepted) as [Socket]
      closing.push(() => {
        client.destroy()
        socket.destroy()
      })
      for (const [name, value] of Object.entries({ localAddress, ...peer }))
        Object.defineProperty(socket, name, { value })
      server.emit('connection', socket)
      sockets.push(socket)
    }
    return sockets
  }
  return { ...limits, connectFrom }
}

/** Addresses of a network that all have the same port. */
const listPeers = (network: string, count: number): Peer[] =>
  Array.from({ length: count }, (_, at) => ({
    remoteAddress: `${network}${(at + 1).toString(16)}`,
    remotePort: 25_000,
  }))
const countOpen = (sockets: readonly Socket[]) => sockets.filter(({ writable }) => writable).length

test('a network has 20 connections, also if all have the same port', async () => {
  const { connectFrom } = await openLimited()
  expect(countOpen(await connectFrom(listPeers('2001:db8:1:1::', 25)))).toBe(20)
  expect(countOpen(await connectFrom(listPeers('2001:db8:1:2::', 2)))).toBe(2)
})

test('connections that are refused take no room of the hundred', async () => {
  const { connectFrom } = await openLimited()
  await connectFrom(listPeers('2001:db8:1:1::', 120))
  const others = [2, 3, 4, 5, 6].flatMap((network) => listPeers(`2001:db8:1:${network}::`, 20))
  expect(countOpen(await connectFrom(others))).toBe(80)
})

test('a connection that closes makes room', async () => {
  const { connectFrom } = await openLimited()
  const ports = Array.from({ length: 22 }, (_, at) => ({ remoteAddress: '2001:db8:1:1::1', remotePort: 25_000 + at }))
  const [first] = await connectFrom(ports.slice(0, 20))
  first?.destroy()
  await expect.poll(() => first?.closed).toBe(true)
  expect(countOpen(await connectFrom(ports.slice(20)))).toBe(1)
})

test('a deadline is that of one connection of a network', async () => {
  const { connectFrom, expectNothing } = await openLimited(50)
  const peers = listPeers('2001:db8::', 2)
  const [first, second] = await connectFrom(peers)
  for (const peer of peers.slice(0, 1)) expectNothing({ localAddress, ...peer })
  await expect.poll(() => second?.closed).toBe(true)
  expect(first?.closed).toBe(false)
})
