/** Finds free ports for `pnpm start`, tests and benchmarks. */
import { connect, createServer } from 'node:net'

const attempts = 100

/**
 * Returns the first port, starting at `first`, that is not in use on this machine. By default it starts at a random
 * port below the range of outgoing connections, so that the port stays free while its server is stopped.
 */
export async function findFreePort(first = 0): Promise<number> {
  const start = first === 0 ? 20_000 + Math.floor(Math.random() * 12_000) : first
  for (let port = start; port < start + attempts && port <= 65_535; port++) {
    if (await isPortFree(port)) return port
  }
  throw new Error(`All ports from ${start} to ${Math.min(start + attempts - 1, 65_535)} are in use.`)
}

/** "localhost" may be either loopback address, so a port is free only if both addresses refuse connections. */
export async function isPortFree(port: number): Promise<boolean> {
  const accepted = await Promise.all(['127.0.0.1', '::1'].map((host) => acceptsConnections(host, port)))
  return !accepted.includes(true) && (await canListen(port))
}

function acceptsConnections(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 500 })
    const end = (isAccepted: boolean) => (socket.destroy(), resolve(isAccepted))
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(true))
    socket.once('error', () => end(false))
  })
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
