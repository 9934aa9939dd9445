/** For development: `start`, tests and benches find the ports of what they start here. */
import { connect, createServer } from 'node:net'

const attempts = 100

/**
 * The first port from `first` on that nothing on this machine listens on. By default `first` is random and below the
 * range of outgoing connections, so that the port stays free while its server is stopped.
 */
export async function findFreePort(first = 0): Promise<number> {
  const start = first === 0 ? 20_000 + Math.floor(Math.random() * 12_000) : first
  for (let port = start; port < start + attempts && port <= 65_535; port++) {
    if (await isFree(port)) return port
  }
  throw new Error(`The ports from ${start} to ${Math.min(start + attempts - 1, 65_535)} are all taken.`)
}

/** "localhost" may be either loopback address, so a port is free only if both refuse a connection. */
export async function isFree(port: number): Promise<boolean> {
  const answers = await Promise.all(['127.0.0.1', '::1'].map((host) => isAnswering(host, port)))
  return !answers.includes(true) && (await canListen(port))
}

function isAnswering(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 500 })
    const end = (hasAnswered: boolean) => (socket.destroy(), resolve(hasAnswered))
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
