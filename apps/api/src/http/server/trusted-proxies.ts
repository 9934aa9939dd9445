import proxyAddr from '@fastify/proxy-addr'
import { LRUCache } from 'lru-cache'

/**
 * Whether a hop is a trusted proxy, for Fastify's `trustProxy`. The result is cached for the latest peers, as parsing an
 * address takes as long as the rest of a hook.
 */
export function trustedProxies(networks: string[]): false | ((address: string, hop: number) => boolean) {
  if (networks.length === 0) return false
  const isTrusted = proxyAddr.compile(networks)
  const peers = new LRUCache<string, boolean>({ max: 1_000 })
  return (address, hop) => {
    // Beyond the peer, the address comes from a header and may be any text.
    if (hop > 0) return isTrusted(address, hop)
    const known = peers.get(address)
    if (known !== undefined) return known
    const trusted = isTrusted(address, hop)
    peers.set(address, trusted)
    return trusted
  }
}
