/** A network that fails at a chosen moment: stands between a program and its PostgreSQL. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface TestProxy {
  /** The address that was given, through the proxy. */
  readonly url: string
  /**
   * From now on, cuts each connection that sends text that `pattern` finds: before it reaches the server, or once the
   * server has answered it, so that the answer is lost. So many `times`, or until told otherwise. `cuts` counts.
   */
  cut(pattern: RegExp | undefined, moment?: 'before' | 'answer', times?: number): void
  readonly cuts: number
  /** Cuts every connection there is. A server does not notice while it is busy, and finishes what it was asked. */
  cutAll(): void
  close(): Promise<void>
}

export async function startTestProxy(targetUrl: string): Promise<TestProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let pattern: RegExp | undefined
  let moment: 'before' | 'answer' = 'before'
  let [cuts, left] = [0, 0]

  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    let isDoomed = false
    const cutNow = () => {
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', cutNow).on('close', () => {
        sockets.delete(socket)
        cutNow()
      })
    }
    near.on('data', (chunk: Buffer) => {
      if (left > 0 && pattern?.test(chunk.toString('latin1'))) {
        cuts += 1
        left -= 1
        isDoomed = true
        if (moment === 'before') return cutNow()
      }
      far.write(chunk)
    })
    far.on('data', (chunk: Buffer) => (isDoomed ? cutNow() : near.write(chunk)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(targetUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    url: url.href,
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
