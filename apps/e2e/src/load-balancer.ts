import { Agent, createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Slow enough that an API that exits without a delay still gets requests. */
const checkMs = 500

export interface LoadBalancer {
  readonly url: string
  /** The failed requests with the reasons. */
  readonly failures: string[]
  isReady(port: number): boolean
  close(): Promise<void>
}

/** A minimal load balancer: round robin over the ready APIs, with keep-alive connections and without retries. */
export async function startLoadBalancer(ports: readonly number[]): Promise<LoadBalancer> {
  const agent = new Agent({ keepAlive: true })
  const ready = new Set<number>()
  const failures: string[] = []
  const closing = new AbortController()
  let turn = 0

  const server = createServer((incoming, outgoing) => {
    const targets = ports.filter((port) => ready.has(port))
    turn += 1
    const port = targets[turn % targets.length]
    const fail = (reason: string) => {
      failures.push(`${incoming.method} ${incoming.url} to ${port}: ${reason}`)
      outgoing.writeHead(502).end()
    }
    if (port === undefined) return fail('no API is ready')
    const { method, url: path, headers } = incoming
    const proxied = send({ host: '127.0.0.1', port, method, path, headers, agent }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, { ...response.headers, connection: 'keep-alive' })
      response.on('error', (error) => failures.push(`response of ${port}: ${error.message}`)).pipe(outgoing)
    })
    proxied.on('error', (error) => fail(error.message))
    incoming.pipe(proxied)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const watching = ports.map(watch)

  async function watch(port: number) {
    while (!closing.signal.aborted) {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(2_000)])
      const isReady = await fetch(`http://127.0.0.1:${port}/ready`, { signal }).then(
        async (response) => {
          await response.body?.cancel()
          return response.ok
        },
        () => false,
      )
      if (isReady) ready.add(port)
      else ready.delete(port)
      await pause(checkMs)
    }
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failures,
    isReady: (port) => ready.has(port),
    async close() {
      closing.abort()
      await Promise.all(watching)
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
