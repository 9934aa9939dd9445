import { isIPv4, isIPv6, SocketAddress } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * What counts as one client, in one spelling: an IPv4 address, or the /64 of an IPv6 one, as a home has that many. The port
 * that some proxies add, and a zone, are no part of it. Undefined when the text is no address.
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
