import { connect, createServer } from 'node:net'

const attempts = 100

/** The first port from `first` on that nothing on this machine listens on; 0 asks for any. */
export async function findFreePort(first: number): Promise<number> {
  if (first === 0) return findAnyPort()
  for (let port = first; port < first + attempts && port <= 65_535; port++) {
    if (await isFree(port)) return port
  }
  throw new Error(`The ports from ${first} to ${Math.min(first + attempts - 1, 65_535)} are all taken.`)
}

/**
 * Whether nothing on this machine listens on the port. "localhost" may mean either loopback address, so it is ours only
 * when nobody answers on both.
 */
export async function isFree(port: number): Promise<boolean> {
  const answers = await Promise.all(['127.0.0.1', '::1'].map((host) => doesAnswer(host, port)))
  return !answers.includes(true) && (await listenBriefly(port)) === port
}

function doesAnswer(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 500 })
    const end = (answered: boolean) => (socket.destroy(), resolve(answered))
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(true))
    socket.once('error', () => end(false))
  })
}

async function findAnyPort(): Promise<number> {
  const port = await listenBriefly(0)
  if (port === undefined) throw new Error('No port of 127.0.0.1 can be listened on.')
  return port
}

function listenBriefly(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined))
    })
  })
}
