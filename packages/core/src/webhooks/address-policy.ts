import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { invalidField } from '../kernel/errors.ts'

/** Parts of IPv6's public space (2000::/3) that are special all the same, by IANA's registry. */
const specialIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((range) => ipaddr.parseCIDR(range))
const publicIpv6 = ipaddr.parseCIDR('2000::/3')

/**
 * Whether a webhook may connect to this IP address: a public one, or one in a network that the operator allows.
 * An IPv4 address in IPv6 clothes (mapped) is judged as IPv4; NAT64, 6to4 and Teredo are refused.
 */
export function isAllowedAddress(address: string, allowedNetworks: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  if (allowedNetworks.some((network) => isWithin(ip, parseNetwork(network)))) return true
  if (ip.kind() === 'ipv4') return ip.range() === 'unicast'
  return isWithin(ip, publicIpv6) && !specialIpv6.some((range) => isWithin(ip, range))
}

/** The operator's networks, read once: each delivery asks for them. */
const parsedNetworks = new Map<string, ReturnType<typeof ipaddr.parseCIDR>>()

function parseNetwork(network: string) {
  const range = parsedNetworks.get(network) ?? ipaddr.parseCIDR(network)
  parsedNetworks.set(network, range)
  return range
}

/** Checks the address of a webhook as it is saved: what can be judged without asking DNS. Throws `invalid`. */
export function checkWebhookUrl(text: string, allowedNetworks: readonly string[]): string {
  const createError = (message: string) => invalidField('url', `url: ${message}`)
  const url = URL.parse(text)
  if (!url || !/^https?:\/\//i.test(text)) throw createError('must be an http or https address')
  if (url.username || url.password) throw createError('must not carry a user name or password')
  // Judged as URL folded it: 2130706433, 0x7f.1 and full-width digits have all become 127.0.0.1 here.
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const address = isIP(host) ? host : /(^|\.)localhost$/.test(host) ? '127.0.0.1' : undefined
  if (address && !isAllowedAddress(address, allowedNetworks)) throw createError('must not point to a private address')
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  if (port < 1024 && port !== 80 && port !== 443) throw createError(`must not use port ${port}`)
  return url.href
}

function isWithin(ip: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number]) {
  return ip.kind() === network.kind() && ip.match([network, bits] as never)
}
