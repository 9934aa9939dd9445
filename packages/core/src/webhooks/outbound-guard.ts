/** Keeps requests to URLs that others choose, or to names that others publish, out of private networks. */
import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isAllowedAddress, isAllowedName } from './address-policy.ts'

/** The address of a server is neither public nor in a network that the operator allows. */
export class BlockedAddress extends Error {}

/** Throws `BlockedAddress` for the host of a URL. undici calls no lookup for an IP address, so it is checked here. */
export function requireAllowedHost({ hostname }: URL, allowedNetworks: readonly string[]): void {
  const host = hostname.replace(/^\[|\]$/g, '')
  const isAllowed = isIP(host) ? isAllowedAddress : isAllowedName
  if (!isAllowed(host, allowedNetworks)) throw new BlockedAddress(`${host} is not public`)
}

/**
 * The lookup of connections. It checks all addresses of a name during the connection attempt itself, without a second
 * lookup, which prevents DNS rebinding.
 */
export function guardLookup(
  resolve: (hostname: string) => Promise<readonly LookupAddress[]>,
  allowedNetworks: readonly string[],
): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses
        if (!first || !addresses.every(({ address }) => isAllowedAddress(address, allowedNetworks)))
          return done(new BlockedAddress(`${hostname} has an address that is not public`), '', 0)
        return options.all ? done(null, [...addresses]) : done(null, first.address, first.family)
      },
      (error: unknown) => done(error as NodeJS.ErrnoException, '', 0),
    )
  }
}
