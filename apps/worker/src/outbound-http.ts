/** The single door for addresses that customers give. */
import { isIP, type LookupFunction } from 'node:net'
import { isAllowedAddress } from '@rapport/core/webhooks/address-policy.ts'
import { Agent, type Dispatcher, request } from 'undici'
import { openNameResolver } from './name-resolver.ts'

const connectTimeoutMs = 5_000
const totalTimeoutMs = 10_000
const maxReadBytes = 65_536
const maxKeptBytes = 4_096

export interface OutboundHttp {
  post(url: string, message: { headers: Record<string, string>; body: string }): Promise<HttpOutcome>
  close(): Promise<void>
}

/** What came back, or why nothing did. `status` is there whenever the receiver answered at all. */
export interface HttpOutcome {
  status: number | null
  body: string | null
  error: string | null
  durationMs: number
}

class BlockedAddress extends Error {}

/**
 * Opens the door. Each request goes once, on a connection of its own: a reused socket that the other side is just
 * closing would cost the only attempt. Every address that DNS answers is judged on that very connection, with no second
 * look-up; redirects are not followed; certificates are checked; five seconds to connect, ten in all, at most 64 KiB read.
 */
export function openOutboundHttp(
  allowedNetworks: readonly string[],
  { dnsServers, ca }: { dnsServers?: readonly string[]; ca?: string } = {},
): OutboundHttp {
  const resolver = openNameResolver(dnsServers)
  const guardedLookup: LookupFunction = (hostname, options, done) => {
    resolver.resolve(hostname).then(
      (addresses) => {
        if (!addresses.every(({ address }) => isAllowedAddress(address, allowedNetworks))) {
          return done(new BlockedAddress(), '', 0)
        }
        const [first] = addresses
        if (options.all) return done(null, addresses)
        return done(null, first?.address ?? '', first?.family ?? 0)
      },
      (error: unknown) => done(error as NodeJS.ErrnoException, '', 0),
    )
  }
  const tls = { rejectUnauthorized: true, minVersion: 'TLSv1.2' as const, ...(ca !== undefined && { ca }) }
  const agent = new Agent({
    connect: { lookup: guardedLookup, timeout: connectTimeoutMs, ...tls },
    headersTimeout: totalTimeoutMs,
    bodyTimeout: totalTimeoutMs,
    maxResponseSize: -1,
  })

  return {
    async post(url, message) {
      const startedAt = performance.now()
      const outcome = await attempt(url, message).catch((error: unknown) => ({ error: describe(error) }))
      return {
        status: null,
        body: null,
        error: null,
        ...outcome,
        durationMs: Math.round(performance.now() - startedAt),
      }
    },
    async close() {
      resolver.close()
      await agent.destroy()
    },
  }

  async function attempt(url: string, message: { headers: Record<string, string>; body: string }) {
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
    // A literal address is never looked up, so it is judged here.
    if (isIP(host) && !isAllowedAddress(host, allowedNetworks)) throw new BlockedAddress()
    const patience = new AbortController()
    const giveUp = () => patience.abort(new DOMException('Too late', 'TimeoutError'))
    // A process that stood still meanwhile first reads what has come: the answer may be there.
    const timer = setTimeout(() => setImmediate(giveUp), totalTimeoutMs)
    const { status, body } = await exchange(url, message, patience.signal).finally(() => clearTimeout(timer))
    if (status >= 200 && status < 300) return { status, body }
    const error = status >= 300 && status < 400 ? 'Redirects are not followed' : `The receiver answered ${status}`
    return { status, body, error }
  }

  async function exchange(
    url: string,
    message: { headers: Record<string, string>; body: string },
    signal: AbortSignal,
  ) {
    const response = await request(url, { method: 'POST', ...message, dispatcher: agent, reset: true, signal })
    return { status: response.statusCode, body: await readSome(response) }
  }
}

/**
 * The first part of a body as text that a database takes, or what of it came before it broke off: the answer was given
 * with its status. What comes after 64 KiB is not even read.
 */
async function readSome(response: Dispatcher.ResponseData): Promise<string> {
  const kept: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      kept.push(chunk as Buffer)
      bytes += (chunk as Buffer).length
      if (bytes >= maxReadBytes) break
    }
  } catch {}
  return Buffer.concat(kept).subarray(0, maxKeptBytes).toString('utf8').replaceAll('\u0000', '\uFFFD')
}

const nameErrors = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ETIMEOUT', 'ENODATA', 'ESERVFAIL', 'EREFUSED'])

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'The request failed'
  if (error instanceof BlockedAddress) return 'The address is not public and not allowed'
  if (error.name === 'TimeoutError') return `No answer within ${totalTimeoutMs / 1000} seconds`
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return `No connection within ${connectTimeoutMs / 1000} seconds`
  if (nameErrors.has(code)) return `The name could not be resolved (${code})`
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) return `The certificate was not accepted (${code})`
  return `The connection failed${code && ` (${code})`}`
}
