/** Requests of the API to other servers: only for what a message of Amazon SNS needs. */
import { lookup } from 'node:dns'
import { get } from 'node:https'
import type { LookupFunction } from 'node:net'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { isAllowedAddress } from '@rapport/core/webhooks/address-policy.ts'

const maxBytes = 65_536
const maxCached = 50

interface Options {
  timeoutMs: number
  /** Replaces the name resolution and the certificate authorities, in tests. */
  connection?: { lookup?: LookupFunction; ca?: string }
  /** Private networks that may be reached, in tests. */
  allowedNetworks?: readonly string[]
}

/**
 * Creates a function that reads a https URL with one request: only from public addresses, without redirects, at most
 * 64 KiB. It returns undefined if the server refuses the request, and throws `unavailable` if there is no response.
 * A certificate (`.pem`) is kept, because every message names the same one.
 */
export function createUrlReader({ timeoutMs, connection, allowedNetworks = [] }: Options) {
  const certificates = new Map<string, string>()
  const guarded = guardLookup(connection?.lookup ?? lookup, allowedNetworks)

  return async (url: string): Promise<string | undefined> => {
    const known = certificates.get(url)
    if (known !== undefined) return known
    const text = await read(url).catch(() => {
      throw new AppError('unavailable', 'Amazon SNS cannot be reached; send the message again')
    })
    if (text !== undefined && url.endsWith('.pem') && certificates.size < maxCached) certificates.set(url, text)
    return text
  }

  function read(url: string): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(timeoutMs)
      const request = get(url, { lookup: guarded, signal, agent: false, ...(connection?.ca && { ca: connection.ca }) })
      request.on('error', reject)
      request.on('response', (response) => {
        const { statusCode = 0 } = response
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > maxBytes) request.destroy(new Error('The response is too long'))
          else chunks.push(chunk)
        })
        response.on('error', reject)
        response.on('end', () => {
          if (statusCode >= 500) return reject(new Error(`The server responded with ${statusCode}`))
          resolve(statusCode === 200 ? Buffer.concat(chunks).toString() : undefined)
        })
      })
    })
  }
}

/** Checks the addresses during the connection attempt itself, so that no second look-up can have another result. */
function guardLookup(resolve: LookupFunction, allowedNetworks: readonly string[]): LookupFunction {
  return (hostname, options, done) =>
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error || !Array.isArray(addresses)) return done(error, '', 0)
      const [first] = addresses
      if (!first || !addresses.every(({ address }) => isAllowedAddress(address, allowedNetworks)))
        return done(new Error(`${hostname} has an address that is not public`), '', 0)
      return options.all ? done(null, addresses) : done(null, first.address, first.family)
    })
}
