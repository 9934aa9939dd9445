import { invalidField } from '@rapport/core/kernel/errors.ts'
import type { ApiConfig } from '@rapport/core/runtime/config.ts'
import { isLoopbackHost } from '@rapport/core/webhooks/address-policy.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

type Addresses = Pick<ApiConfig, 'HOST' | 'PUBLIC_URL'>

/**
 * On a developer's machine, refuses requests to a foreign host name (DNS rebinding): a website could resolve its own
 * name to 127.0.0.1, and the browser would let its scripts read the responses. An API that listens on other addresses,
 * or whose PUBLIC_URL is another machine, has a proxy or a network in front of it that may pass any name.
 */
export const ownHost = fp(
  async (app: FastifyInstance, { config }: { config: Addresses }) => {
    const names = ownHostNames(config)
    if (!names) return
    app.addHook('onRequest', async ({ raw }) => {
      const { host } = raw.headers
      // HTTP/1.0 has no such header, and no browser sends it.
      if (host === undefined) return
      // Any port: it may be forwarded, and a website cannot choose the host name of its address.
      const name = host.replace(/:\d+$/, '').toLowerCase()
      if (!names.has(name)) throw invalidField('Host', 'Host: must be localhost or the host of PUBLIC_URL')
    })
  },
  { name: 'own-host', dependencies: ['request-context'] },
)

function ownHostNames({ HOST, PUBLIC_URL }: Addresses): Set<string> | undefined {
  const { hostname } = new URL(PUBLIC_URL)
  return isLoopbackHost(HOST) && isLoopbackHost(hostname)
    ? new Set(['localhost', '127.0.0.1', '[::1]', hostname])
    : undefined
}
