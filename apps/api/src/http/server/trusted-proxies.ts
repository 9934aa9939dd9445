import proxyAddr from '@fastify/proxy-addr'
import { LRUCache } from 'lru-cache'

/**
 * Returns a function for Fastify's `trustProxy` that checks whether a hop is a trusted proxy. Caches the result for the
 * most recent peers, because parsing an address takes as long as the rest of a hook.
 */
export function trustedProxies(networks: string[]): false | ((address: string, hop: number) => boolean) {
  if (networks.length === 0) return false
  const isTrusted = proxyAddr.compile(networks)
  const peers = new LRUCache<string, boolean>({ max: 1_000 })
  return (address, hop) => {
    // After the peer, addresses come from a header and may be any text: do not cache them.
    if (hop > 0) return isTrusted(withoutPort(address), hop)
    const known = peers.get(address)
    if (known !== undefined) return known
    const trusted = isTrusted(address, hop)
    peers.set(address, trusted)
    return trusted
  }
}

/** Some proxies, such as Azure's, add the port: `203.0.113.9:5000`, `[2001:db8::1]:443`. */
const withoutPort = (address: string) =>
  /^\[(.*)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^([\d.]+):\d+$/, '$1')
