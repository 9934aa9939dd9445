import { Agent, createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Slow enough that an API which ends at once is sent some more. */
const checkMs = 500

export interface LoadBalancer {
  readonly url: string
  /** What it could not hand on, with the reason. */
  readonly failures: string[]
  isReady(port: number): boolean
  close(): Promise<void>
}

/**
 * A load balancer at its simplest: to each of the ready in turn, over connections that it keeps open, and nothing is
 * ever tried twice, so that whatever a restart breaks is seen.
 */
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
    if (port === undefined) return fail('nobody is ready')
    const { method, url: path, headers } = incoming
    const proxied = send({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, connection: 'keep-alive' })
      answer.on('error', (error) => failures.push(`answer of ${port}: ${error.message}`)).pipe(outgoing)
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
        async (answer) => {
          await answer.body?.cancel()
          return answer.ok
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
