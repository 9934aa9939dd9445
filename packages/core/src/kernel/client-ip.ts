import { isIPv4, isIPv6, SocketAddress } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Parses the address of a client. Removes the port that some proxies add and the IPv6 zone, and converts an IPv4-mapped
 * address to IPv4. Returns undefined if the text is not an IP address.
 */
function parseClientIp(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const withoutZone = text.replace(/%[^\]]*/, '')
  if (!/^[\d.:a-f[\]]+$/i.test(withoutZone)) return undefined
  const address = SocketAddress.parse(isIPv6(withoutZone) ? `[${withoutZone}]` : withoutZone)?.address
  return address === undefined ? undefined : ipaddr.process(address)
}

/**
 * Reduces an address to the part that identifies a client: an IPv4 address, or the /64 network of an IPv6 address,
 * because a household usually gets a whole /64. Returns undefined if the text is not an IP address.
 */
export function normalizeClientIp(text: string): string | undefined {
  if (isIPv4(text)) return text
  const address = parseClientIp(text)
  if (address?.kind() !== 'ipv6') return address?.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()
}

/** Returns a function that checks whether an address is in one of the networks, which are in CIDR notation. */
export function createNetworkCheck(networks: readonly string[]): (address: string) => boolean {
  const ranges = networks.map((network) => ipaddr.parseCIDR(network))
  // Each request is checked: without a network, no address is parsed.
  if (ranges.length === 0) return () => false
  return (text) => {
    const address = parseClientIp(text)
    return ranges.some(([network, bits]) => address?.kind() === network.kind() && address.match(network, bits))
  }
}
