/** A TCP proxy between a program and PostgreSQL that cuts connections at a chosen moment. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface TestProxy {
  /** The target URL, through the proxy. */
  readonly url: string
  /**
   * Cuts each connection that sends data matching `pattern`: before the data reaches the server, or when the server has
   * responded, so that the response is lost. Stops after `times` cuts (default: never). `undefined` disables cutting.
   */
  cut(pattern: RegExp | undefined, moment?: 'before' | 'response', times?: number): void
  readonly cuts: number
  /** Passes nothing on, in either direction, and keeps every connection open; or passes on again what comes later. */
  swallow(isSwallowing: boolean): void
  /** Cuts all open connections. A server that is executing a statement does not notice, and completes it. */
  cutAll(): void
  close(): Promise<void>
}

export async function startTestProxy(targetUrl: string): Promise<TestProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let pattern: RegExp | undefined
  let moment: 'before' | 'response' = 'before'
  let [cuts, left] = [0, 0]
  let isSwallowing = false

  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    let isMatched = false
    const cutConnection = () => {
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', cutConnection).on('close', () => {
        sockets.delete(socket)
        cutConnection()
      })
    }
    near.on('data', (chunk: Buffer) => {
      if (isSwallowing) return
      if (left > 0 && pattern?.test(chunk.toString('latin1'))) {
        cuts += 1
        left -= 1
        isMatched = true
        if (moment === 'before') return cutConnection()
      }
      far.write(chunk)
    })
    far.on('data', (chunk: Buffer) => {
      if (isSwallowing) return
      if (isMatched) cutConnection()
      else near.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(targetUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    url: url.href,
    swallow: (next) => void (isSwallowing = next),
    cut(next, nextMoment = 'before', times = Number.POSITIVE_INFINITY) {
      pattern = next
      moment = nextMoment
      left = times
    },
    cutAll() {
      for (const socket of sockets) socket.destroy()
    },
    get cuts() {
      return cuts
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
