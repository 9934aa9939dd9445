/** All HTTP requests to the URLs of webhooks. */
import { randomUUID } from 'node:crypto'
import type { LookupFunction, Socket } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { isLoopbackAddress } from '@rapport/core/webhooks/address-policy.ts'
import { BlockedAddress, guardLookup, requireAllowedHost } from '@rapport/core/webhooks/outbound-guard.ts'
import { Agent, buildConnector } from 'undici'
import { skipInterimResponses } from './skip-interim-responses.ts'
import { openNameResolver } from './name-resolver.ts'

const maxReadBytes = 65_536
const maxKeptBytes = 4_096

export interface OutboundTimeouts {
  readonly nameQueryTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
}

export interface OutboundHttp {
  /** Opens the connections for one drain. They share TLS sessions only with each other. */
  openConnections(): Connections
  /** Aborts requests in flight. */
  close(): Promise<void>
}

export interface Connections {
  post(url: string, message: Message): Promise<HttpOutcome>
  /** Aborts requests in flight. */
  close(): Promise<void>
}

interface Message {
  headers: Record<string, string>
  body: string
}

/** The response or the error of a request. `status` is set if the receiver sent a status line. */
export interface HttpOutcome {
  status: number | null
  body: string | null
  error: string | null
  durationMs: number
}

/**
 * Opens the HTTP client for webhooks.
 *
 * - Each request is sent once, on a new connection. A server that restarts closes its idle connections, and a request
 *   on one of them would be lost (docs/bench.md).
 * - The addresses that DNS returns are checked: see `guardLookup`.
 * - `refusedPorts` are ports of this machine that a request never reaches, although loopback addresses are allowed. They
 *   are checked on the connection, before anything is sent on it.
 * - Redirects are not followed, and TLS certificates are verified.
 * - At most 64 KiB of the response are read.
 */
export function openOutboundHttp(
  allowedNetworks: readonly string[],
  options: {
    timings: OutboundTimeouts
    dnsServers?: readonly string[]
    ca?: string
    refusedPorts?: readonly number[]
  },
): OutboundHttp {
  const { timings, dnsServers, ca, refusedPorts = [] } = options
  const resolver = openNameResolver(timings, dnsServers)
  // Created once: creating it for each connection takes a quarter of the CPU time of a POST over TLS.
  const secureContext = createSecureContext({ minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) })
  const agents = new Set<Agent>()

  return {
    openConnections() {
      const drain = randomUUID()
      const lookup = guardLookup((hostname) => resolver.resolve(hostname, drain), allowedNetworks)
      const agent = openAgent({ lookup, secureContext, refusedPorts, timings })
      agents.add(agent)
      return {
        async post(url, message) {
          const startedAt = performance.now()
          const outcome = await attempt(agent, url, message).catch((error: unknown) => ({
            error: describeError(error, timings),
          }))
          return {
            status: null,
            body: null,
            error: null,
            ...outcome,
            durationMs: Math.round(performance.now() - startedAt),
          }
        },
        async close() {
          agents.delete(agent)
          await agent.destroy()
        },
      }
    },
    async close() {
      resolver.close()
      await Promise.all([...agents].map((agent) => agent.destroy()))
    },
  }

  async function attempt(agent: Agent, url: string, message: Message) {
    const address = new URL(url)
    requireAllowedHost(address, allowedNetworks)
    const { status, body } = await sendRequest({ agent, timeoutMs: timings.requestTimeoutMs }, address, message)
    if (status >= 200 && status < 300) return { status, body }
    const error = status >= 300 && status < 400 ? 'Redirects are not followed' : `The receiver responded with ${status}`
    return { status, body, error }
  }
}

/** Has its own connector: undici drops the default one, with its TLS sessions, when no connection is open. */
function openAgent(options: {
  lookup: LookupFunction
  secureContext: SecureContext
  refusedPorts: readonly number[]
  timings: OutboundTimeouts
}): Agent {
  const { refusedPorts, timings, ...connectorOptions } = options
  const connect = buildConnector({
    ...connectorOptions,
    timeout: timings.connectTimeoutMs,
    rejectUnauthorized: true,
    allowH2: false,
  })
  // undici references its TLS sessions weakly: without this reference, the garbage collector ends them within a drain.
  const sessions = new Map<string, Buffer>()
  return new Agent({
    connect(options, done) {
      connect(options, (...[error, socket]) => {
        socket?.on('session', (session: Buffer) => sessions.set(options.hostname, session))
        if (error) return done(error, null)
        if (isRefused(socket, refusedPorts)) {
          socket.destroy()
          return done(new BlockedAddress(), null)
        }
        skipInterimResponses(socket)
        done(null, socket)
      })
    },
    maxResponseSize: -1,
    // HTTP/2 would send several requests over one connection.
    allowH2: false,
  })
}

function isRefused({ remoteAddress = '', remotePort = 0 }: Socket, refusedPorts: readonly number[]): boolean {
  return refusedPorts.includes(remotePort) && isLoopbackAddress(remoteAddress)
}

/** Sends a request. A response that is truncated or too long is returned as far as it was read. */
async function sendRequest(
  { agent, timeoutMs }: { agent: Agent; timeoutMs: number },
  { origin, pathname, search }: URL,
  { headers, body }: Message,
) {
  const deadline = new AbortController()
  const abort = () => deadline.abort(new DOMException('Request timed out', 'TimeoutError'))
  // If the process was suspended, the response may be in the socket buffer: `setImmediate` lets it be read first.
  const timer = setTimeout(() => setImmediate(abort), timeoutMs)
  try {
    const response = await agent.request({
      origin,
      path: pathname + search,
      method: 'POST',
      // Nothing is decompressed: what is stored is the start of the body.
      headers: { ...headers, 'accept-encoding': 'identity' },
      body,
      // Closes the connection after the response.
      reset: true,
      signal: deadline.signal,
    })
    const encoding = [response.headers['content-encoding']].flat().join(', ')
    const text = await readText(response.body)
    const compression = compressions.test(encoding) ? encoding : text.startsWith(startOfGzip) ? 'gzip' : undefined
    return { status: response.statusCode, body: compression ? `(compressed with ${compression.slice(0, 100)})` : text }
  } finally {
    clearTimeout(timer)
  }
}

/** The encodings of HTTP. Receivers also write a charset in this header, which changes nothing. */
const compressions = /gzip|deflate|compress|\bbr\b|zstd|dcb|dcz|exi/i
/** As it is read: the second byte of gzip is no UTF-8. A receiver may compress without saying so. */
const startOfGzip = '\u001f\ufffd\b'

/** Reads the first part of a body as text that PostgreSQL accepts. Leaving the loop closes the connection. */
async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const kept: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      kept.push(chunk)
      bytes += chunk.length
      if (bytes >= maxReadBytes) break
    }
  } catch {
    // The status decides the outcome; the rest of the body is not needed.
  }
  return Buffer.concat(kept).subarray(0, maxKeptBytes).toString('utf8').replaceAll('\u0000', '\uFFFD')
}

const nameErrors = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ETIMEOUT', 'ENODATA', 'ESERVFAIL', 'EREFUSED'])

function describeError(error: unknown, { connectTimeoutMs, requestTimeoutMs }: OutboundTimeouts): string {
  if (!(error instanceof Error)) return 'The request failed'
  if (error instanceof BlockedAddress) return 'The address is not public and not allowed'
  if (error.name === 'TimeoutError') return `No response within ${requestTimeoutMs / 1000} seconds`
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return `No connection within ${connectTimeoutMs / 1000} seconds`
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'The headers of the response are too large'
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || error.name === 'HTTPParserError')
    return `The response is not valid HTTP: ${error.message.replace(/^.* protocol \((.*)\)$/, '$1')}`
  if (nameErrors.has(code)) return `The hostname could not be resolved (${code})`
  if (/^(?:ERR_SSL_|EPROTO)/.test(code)) return `The TLS handshake failed (${code}): the port may not speak HTTPS`
  if (/CERT|TLS|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) return `The TLS certificate was rejected (${code})`
  return `The connection failed${code && ` (${code})`}`
}
