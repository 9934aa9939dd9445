/** The single door for addresses that customers give. */
import { isIP, type LookupFunction } from 'node:net'
import { isAllowedAddress } from '@rapport/core/webhooks/address-policy.ts'
import { buildConnector, type Client } from 'undici'
import { type ConnectionPool, openConnectionPool } from './connection-pool.ts'
import { openNameResolver } from './name-resolver.ts'

const connectTimeoutMs = 5_000
const totalTimeoutMs = 10_000
const maxReadBytes = 65_536
const maxKeptBytes = 4_096

export interface OutboundHttp {
  /** Connections of one turn: reused during the turn, closed at its end. */
  openConnections(): Connections
  /** Aborts requests that are under way. */
  close(): Promise<void>
}

export interface Connections {
  post(url: string, message: Message): Promise<HttpOutcome>
  /** A request that is under way completes, and then its connection closes too. */
  close(): Promise<void>
}

interface Message {
  headers: Record<string, string>
  body: string
}

/** What came back, or why nothing did. `status` is there whenever the receiver answered at all. */
export interface HttpOutcome {
  status: number | null
  body: string | null
  error: string | null
  /** The attempt may be lost to the reuse alone: the receiver had already responded on that connection, and then reset it. */
  isResetOnReusedConnection: boolean
  durationMs: number
}

class BlockedAddress extends Error {}

/**
 * Opens the door. Each request is sent once. A connection is reused shortly after a complete response only (connection-pool.ts):
 * a receiver that closes an idle connection at the moment of its reuse would cost the only attempt. Every address that
 * DNS answers is judged on each connection that is opened, with no second look-up; redirects are not followed;
 * certificates are checked; five seconds to connect, ten in all, at most 64 KiB read.
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
  const clients = new Set<Client>()

  function openConnections(): Connections {
    // A connector of its own for each turn: TLS sessions last no longer than the turn either.
    const connect = buildConnector({
      lookup: guardedLookup,
      timeout: connectTimeoutMs,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      allowH2: false,
      ...(ca !== undefined && { ca }),
    })
    const pool = openConnectionPool({ connect, timeoutMs: totalTimeoutMs, clients })
    return {
      async post(url, message) {
        const startedAt = performance.now()
        const outcome = await attempt(pool, url, message).catch((error: unknown) => ({ error: describe(error) }))
        return {
          status: null,
          body: null,
          error: null,
          isResetOnReusedConnection: false,
          ...outcome,
          durationMs: Math.round(performance.now() - startedAt),
        }
      },
      close: () => pool.close(),
    }
  }

  return {
    openConnections,
    async close() {
      resolver.close()
      await Promise.all([...clients].map((client) => client.destroy()))
    },
  }

  async function attempt(pool: ConnectionPool, url: string, message: Message) {
    const address = new URL(url)
    const host = address.hostname.replace(/^\[|\]$/g, '')
    // A literal address is never looked up, so it is judged here.
    if (isIP(host) && !isAllowedAddress(host, allowedNetworks)) throw new BlockedAddress()
    const connection = pool.take(address.origin)
    let isComplete = false
    try {
      const response = await exchange(connection.client, address, message)
      isComplete = response.isComplete
      return toOutcome(response)
    } catch (error) {
      return { error: describe(error), isResetOnReusedConnection: connection.responses > 0 && isReset(error) }
    } finally {
      if (isComplete) pool.keep(connection)
      else void pool.discard(connection)
    }
  }
}

interface Response {
  status: number
  body: string
  /** The body was read to its end. */
  isComplete: boolean
}

/** One request and its answer. An answer that breaks off, or is long enough, is given as far as it came. */
async function exchange(client: Client, { pathname, search }: URL, { headers, body }: Message): Promise<Response> {
  const deadline = new AbortController()
  const giveUp = () => deadline.abort(new DOMException('Too late', 'TimeoutError'))
  // A process that was suspended meanwhile first reads what has come: the answer may be there.
  const timer = setTimeout(() => setImmediate(giveUp), totalTimeoutMs)
  try {
    const path = pathname + search
    const response = await client.request({ path, method: 'POST', headers, body, signal: deadline.signal })
    return { status: response.statusCode, ...(await readText(response.body)) }
  } finally {
    clearTimeout(timer)
  }
}

/** The first part of a body as text that a database takes. Leaving the loop closes the connection. */
async function readText(stream: AsyncIterable<Buffer>): Promise<Pick<Response, 'body' | 'isComplete'>> {
  const kept: Buffer[] = []
  let bytes = 0
  let isComplete = false
  try {
    for await (const chunk of stream) {
      kept.push(chunk)
      bytes += chunk.length
      if (bytes >= maxReadBytes) break
    }
    isComplete = bytes < maxReadBytes
  } catch {
    // The status has come: what is missing of the body changes nothing.
  }
  const body = Buffer.concat(kept).subarray(0, maxKeptBytes).toString('utf8').replaceAll('\u0000', '\uFFFD')
  return { body, isComplete }
}

function toOutcome({ status, body }: Response) {
  if (status >= 200 && status < 300) return { status, body }
  const error = status >= 300 && status < 400 ? 'Redirects are not followed' : `The receiver answered ${status}`
  return { status, body, error }
}

const resetErrors = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

const isReset = (error: unknown) =>
  error instanceof Error && resetErrors.has((error as NodeJS.ErrnoException).code ?? '')

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
