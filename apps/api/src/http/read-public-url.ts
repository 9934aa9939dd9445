/** Requests of the API to other servers: only for what a message of Amazon SNS needs. */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { guardLookup, requireAllowedHost } from '@rapport/core/webhooks/outbound-guard.ts'

const maxBytes = 65_536
const maxCached = 50

interface Options {
  timeoutMs: number
  /** Replaces the name resolution and the certificate authorities, in tests. */
  connection?: { resolve?: (hostname: string) => Promise<readonly LookupAddress[]>; ca?: string }
  /** Private networks that may be reached, in tests. */
  allowedNetworks?: readonly string[]
}

/**
 * Creates a function that reads a https URL with one request: only from public addresses, without redirects, at most
 * 64 KiB. It returns undefined if the server refuses the request, and throws `unavailable` if there is no response.
 * A certificate (`.pem`) is kept, because every message names the same one: the last fifty, as it is read before the signature
 * of its message is verified.
 */
export function createUrlReader({ timeoutMs, connection = {}, allowedNetworks = [] }: Options) {
  const certificates = new Map<string, string>()
  const { resolve = (hostname) => lookup(hostname, { all: true }), ca } = connection
  let opening: ReturnType<typeof openClient> | undefined

  /** Loaded with the first request, as most installations get no message of Amazon SNS. */
  async function openClient() {
    const { Agent, request } = await import('undici')
    const agent = new Agent({
      connect: { lookup: guardLookup(resolve, allowedNetworks), timeout: timeoutMs, ...(ca !== undefined && { ca }) },
      maxResponseSize: maxBytes,
      allowH2: false,
    })
    // Each request closes its connection, so there is none to close when the API stops.
    return (url: string) => request(url, { dispatcher: agent, signal: AbortSignal.timeout(timeoutMs), reset: true })
  }

  return async (url: string): Promise<string | undefined> => {
    const known = certificates.get(url)
    if (known !== undefined) return known
    const text = await read(url).catch(() => {
      throw new AppError('unavailable', 'Amazon SNS cannot be reached; send the message again')
    })
    if (text !== undefined && url.endsWith('.pem')) {
      certificates.set(url, text)
      const [oldest = url] = certificates.keys()
      if (certificates.size > maxCached) certificates.delete(oldest)
    }
    return text
  }

  async function read(url: string): Promise<string | undefined> {
    requireAllowedHost(new URL(url), allowedNetworks)
    const request = await (opening ??= openClient())
    const { statusCode, body } = await request(url)
    const text = await body.text()
    if (statusCode >= 500) throw new Error(`The server responded with ${statusCode}`)
    return statusCode === 200 ? text : undefined
  }
}
