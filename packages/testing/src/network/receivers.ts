/** HTTP and SMTP servers that receive webhooks and mails in tests. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import PostalMime, { type Address } from 'postal-mime'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { Webhook } from 'standardwebhooks'
import { waitUntil } from '../wait.ts'

/** Waits for `count` items, or for one that matches. Fails after `timeoutMs` (default: 20 s) and lists the items. */
interface WaitFor<Item> {
  (count: number, timeoutMs?: number): Promise<readonly Item[]>
  (matches: (item: Item) => boolean, timeoutMs?: number): Promise<Item>
}

// ── HTTP ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ReceivedRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly receivedAt: Date
}

export interface ReceiverResponse {
  /** Default: 200. */
  status?: number
  headers?: Record<string, string>
  /** A stream may be slow, or never end. */
  body?: string | Buffer | AsyncIterable<string | Buffer>
  delayMs?: number
  /** Never responds, or closes the connection without a response. */
  fault?: 'hang' | 'disconnect'
}

type HttpHandler = (request: ReceivedRequest) => ReceiverResponse | undefined | Promise<ReceiverResponse | undefined>

export interface HttpReceiver {
  readonly url: string
  readonly port: number
  readonly requests: readonly ReceivedRequest[]
  readonly waitFor: WaitFor<ReceivedRequest>
  /** Replaces the handler. */
  respondWith(handler: HttpHandler): void
  close(): Promise<void>
}

/** Listens on 127.0.0.1. Records each request with its body, then responds with 200 or the result of `handler`. */
export async function startHttpReceiver(
  handler: HttpHandler = () => undefined,
  options: { port?: number; host?: string } = {},
): Promise<HttpReceiver> {
  const requests: ReceivedRequest[] = []
  const closing = new AbortController()
  let currentHandler = handler
  const server = createServer((incoming, response) => {
    const work = async () => {
      const { method = '', url = '', headers } = incoming
      const received = { method, url, headers, body: await buffer(incoming), receivedAt: new Date() }
      requests.push(received)
      await sendResponse(response, (await currentHandler(received)) ?? {}, closing.signal)
    }
    // Some tests disconnect the client, or close the receiver, during a request.
    work().catch(() => response.destroy())
  })
  const host = options.host ?? '127.0.0.1'
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host}:${port}`,
    port,
    requests,
    waitFor: createWaitFor(requests, 'requests', ({ method, url }) => `${method} ${url}`),
    respondWith: (next) => void (currentHandler = next),
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function sendResponse(response: ServerResponse, content: ReceiverResponse, signal: AbortSignal): Promise<void> {
  if (content.delayMs) await pause(content.delayMs, undefined, { signal })
  if (content.fault === 'hang') return
  if (content.fault === 'disconnect') return void response.destroy()
  response.writeHead(content.status ?? 200, content.headers)
  const { body = '' } = content
  if (typeof body === 'string' || Buffer.isBuffer(body)) response.end(body)
  else
    Readable.from(body, { signal })
      .on('error', () => response.destroy())
      .pipe(response)
}

/** Verifies the Standard Webhooks signature of a request. Returns the parsed body; throws if the signature is wrong. */
export function verifySignature(request: ReceivedRequest | undefined, secret: string): unknown {
  if (!request) throw new Error('No request was received')
  return new Webhook(secret).verify(request.body.toString(), request.headers as Record<string, string>)
}

// ── SMTP ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ReceivedMail {
  /** The sender in the envelope, which may differ from the From header. */
  readonly from: string
  readonly to: readonly string[]
  /** Keys are in lower case. If a header is repeated, its first value. */
  readonly headers: Readonly<Record<string, string>>
  /** The From and To headers, parsed. */
  readonly fromHeader: Address | undefined
  readonly toHeader: readonly Address[]
  readonly subject: string
  readonly text: string
  readonly html: string
  /** As text. */
  readonly attachments: readonly { name: string | null; content: string }[]
  readonly raw: Buffer
  /** When its conversation began, with MAIL FROM. */
  readonly startedAt: Date
  readonly receivedAt: Date
}

/** 450, 550 and a refusal such as "550 5.1.1 No such user" reject the recipient. With the others the mail is received and recorded before the delay or fault. */
export type SmtpDecision =
  | 'accept'
  | 450
  | 550
  | { refusal: string }
  | { delayMs: number }
  | 'hang after data'
  | 'disconnect after data'

type SmtpDecide = (recipient: string) => SmtpDecision

export interface SmtpReceiver {
  readonly url: string
  readonly port: number
  readonly mails: readonly ReceivedMail[]
  readonly waitFor: WaitFor<ReceivedMail>
  /** Replaces the decision function. */
  decide(decide: SmtpDecide): void
  close(): Promise<void>
}

/** Listens on 127.0.0.1 without TLS and login. Records every mail and by default accepts every recipient. */
export async function startSmtpReceiver(options: { decide?: SmtpDecide; port?: number } = {}): Promise<SmtpReceiver> {
  const mails: ReceivedMail[] = []
  const sockets = new Map<number | undefined, Socket>()
  const startedAt = new WeakMap<SMTPServerSession, Date>()
  const closing = new AbortController()
  let decide: SmtpDecide = options.decide ?? (() => 'accept')

  const receiveMail = async (stream: Readable, session: SMTPServerSession) => {
    const raw = await buffer(stream)
    const times = { startedAt: startedAt.get(session) ?? new Date(), receivedAt: new Date() }
    mails.push({ ...(await readMail(raw, session)), ...times })
    for (const { address } of session.envelope.rcptTo) {
      const decision = decide(address)
      if (typeof decision === 'object' && 'delayMs' in decision)
        await pause(decision.delayMs, undefined, { signal: closing.signal })
      if (decision === 'hang after data') return 'no response'
      if (decision === 'disconnect after data') {
        sockets.get(session.remotePort)?.destroy()
        return 'no response'
      }
    }
    return 'accepted'
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    closeTimeout: 1,
    onMailFrom(_address, session, done) {
      startedAt.set(session, new Date())
      done()
    },
    onRcptTo({ address }, _session, done) {
      const decision = decide(address)
      const refusal = typeof decision === 'object' && 'refusal' in decision ? decision.refusal : undefined
      if (refusal === undefined && typeof decision !== 'number') return done()
      const message = refusal?.slice(4) ?? `${address} is refused`
      done(Object.assign(new Error(message), { responseCode: refusal ? Number(refusal.slice(0, 3)) : decision }))
    },
    onData(stream, session, done) {
      receiveMail(stream, session).then(
        (outcome) => (outcome === 'accepted' ? done(null, `Ok: queued as receiver-${mails.length}`) : undefined),
        (error: unknown) => done(error as Error),
      )
    },
  })
  // Some tests disconnect the client during a mail.
  server.on('error', () => {})
  server.server.on('connection', (socket: Socket) => {
    const { remotePort } = socket
    sockets.set(remotePort, socket)
    socket.once('close', () => sockets.delete(remotePort))
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    port,
    mails,
    waitFor: createWaitFor(mails, 'mails', ({ to, subject }) => `"${subject}" to ${to.join(', ')}`),
    decide: (next) => void (decide = next),
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        for (const socket of sockets.values()) socket.destroy()
      }),
  }
}

async function readMail(
  raw: Buffer,
  session: SMTPServerSession,
): Promise<Omit<ReceivedMail, 'startedAt' | 'receivedAt'>> {
  const { headers, from, to = [], subject = '', text = '', html = '', attachments } = await PostalMime.parse(raw)
  const { mailFrom, rcptTo } = session.envelope
  return {
    from: mailFrom ? mailFrom.address : '',
    to: rcptTo.map(({ address }) => address),
    headers: Object.fromEntries(headers.toReversed().map(({ key, value }) => [key.toLowerCase(), value])),
    fromHeader: from,
    toHeader: to,
    subject,
    text,
    html,
    attachments: attachments.map(({ filename, content }) => ({ name: filename, content: toText(content) })),
    raw,
  }
}

function createWaitFor<Item>(items: readonly Item[], noun: string, describe: (item: Item) => string): WaitFor<Item> {
  const summary = () => `${items.length} arrived: ${items.slice(-10).map(describe).join('; ') || 'none'}`
  return (async (wanted: number | ((item: Item) => boolean), timeoutMs?: number) => {
    const limit = timeoutMs === undefined ? {} : { timeoutMs }
    if (typeof wanted !== 'number') {
      return waitUntil(() => items.find(wanted), {
        describe: () => `one of the ${noun} matches (${summary()})`,
        ...limit,
      })
    }
    await waitUntil(() => items.length >= wanted, {
      describe: () => `${wanted} ${noun} have arrived (${summary()})`,
      ...limit,
    })
    return items
  }) as WaitFor<Item>
}

const toText = (content: string | ArrayBuffer | Uint8Array) =>
  typeof content === 'string' ? content : new TextDecoder().decode(content)
