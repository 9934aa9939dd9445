import { isIPv4, isIPv6, SocketAddress } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Reduces an address to the part that identifies a client: an IPv4 address, or the /64 network of an IPv6 address,
 * because a household usually gets a whole /64. Removes the port that some proxies add and the IPv6 zone. Returns
 * undefined if the text is not an IP address.
 */
export function normalizeClientIp(text: string): string | undefined {
  if (isIPv4(text)) return text
  const withoutZone = text.replace(/%[^\]]*/, '')
  if (!/^[\d.:a-f[\]]+$/i.test(withoutZone)) return undefined
  const address = SocketAddress.parse(isIPv6(withoutZone) ? `[${withoutZone}]` : withoutZone)?.address
  if (address === undefined) return undefined
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()
}
