import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { invalidField } from '../kernel/errors.ts'

/** Special-purpose ranges within the public IPv6 space (2000::/3), from the IANA registry. */
const specialIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((range) => ipaddr.parseCIDR(range))
const publicIpv6 = ipaddr.parseCIDR('2000::/3')

/**
 * Returns whether webhooks may connect to an IP address: a public address, or an address in a network that the operator
 * allows. An IPv4-mapped IPv6 address is checked as IPv4. NAT64, 6to4 and Teredo addresses are not allowed.
 */
export function isAllowedAddress(address: string, allowedNetworks: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  if (allowedNetworks.some((network) => isWithin(ip, parseNetwork(network)))) return true
  if (ip.kind() === 'ipv4') return ip.range() === 'unicast'
  return isWithin(ip, publicIpv6) && !specialIpv6.some((range) => isWithin(ip, range))
}

/**
 * The domains of private networks: RFC 6761 (localhost), RFC 6762 (local, and those of its appendix G), RFC 8375
 * (home.arpa), and `internal`, which ICANN reserved in 2024. `localdomain` is a default of Linux distributions.
 */
const privateDomain = /(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa)$/

/**
 * Returns whether webhooks may connect to a hostname: not to one without a dot or in the domain of a private network,
 * which belong to no public server. They are allowed if the operator allows any network: then only the address decides.
 */
export function isAllowedName(hostname: string, allowedNetworks: readonly string[]): boolean {
  const name = hostname.toLowerCase().replace(/\.+$/, '')
  return allowedNetworks.length > 0 || (name.includes('.') && !privateDomain.test(name))
}

/** Returns whether an IP address is this machine's own, also as an IPv4-mapped IPv6 address. */
export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}

/** Returns whether requests to a host do not leave this machine. Takes the host of a URL, or an address. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  return /(^|\.)localhost$/.test(name) || isLoopbackAddress(name)
}

/** A cache, because every delivery checks an address. */
const parsedNetworks = new Map<string, ReturnType<typeof ipaddr.parseCIDR>>()

function parseNetwork(network: string) {
  const range = parsedNetworks.get(network) ?? ipaddr.parseCIDR(network)
  parsedNetworks.set(network, range)
  return range
}

const privateAddress =
  'must not point to a private address, unless the operator allows its network with WEBHOOK_ALLOWED_NETWORKS'
const privateName =
  'must have a public hostname, unless the operator allows a private network with WEBHOOK_ALLOWED_NETWORKS'

export const maxUrlLength = 2048

/**
 * Checks the URL of a webhook before it is saved, without DNS. Returns the normalized URL, or throws
 * `validation_error`.
 */
export function checkWebhookUrl(text: string, allowedNetworks: readonly string[]): string {
  const createError = (message: string) => invalidField('url', `url: ${message}`)
  const url = URL.parse(text)
  if (!url || !/^https?:\/\//i.test(text)) throw createError('must be an http or https URL')
  if (url.username || url.password) throw createError('must not contain a user name or password')
  // `URL` has normalized the host: 2130706433, 0x7f.1 and full-width digits have become 127.0.0.1.
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
  const address = isIP(host) ? host : /(^|\.)localhost$/.test(host) ? '127.0.0.1' : undefined
  if (address && !isAllowedAddress(address, allowedNetworks)) throw createError(privateAddress)
  if (!address && !isAllowedName(host, allowedNetworks)) throw createError(privateName)
  if (/^\.|\.\.[^.]/.test(url.hostname)) throw createError('must not have an empty label in its hostname')
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  if (port < 1024 && port !== 80 && port !== 443) throw createError(`must not use port ${port}`)
  if (url.href.length > maxUrlLength) throw createError(`must have at most ${maxUrlLength} characters when encoded`)
  return url.href
}

function isWithin(ip: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number]) {
  return ip.kind() === network.kind() && ip.match([network, bits] as never)
}
