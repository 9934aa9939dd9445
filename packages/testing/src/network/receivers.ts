/** The outside world for tests: whom webhooks go to and who takes the mail. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { Webhook } from 'standardwebhooks'
import { waitUntil } from '../wait.ts'

/** Waits for this many, or for one that matches; fails after `timeoutMs` (5 seconds) with what did come. */
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
  /** 200 */
  status?: number
  headers?: Record<string, string>
  /** A stream may drip, or never end. */
  body?: string | Buffer | AsyncIterable<string | Buffer>
  delayMs?: number
  /** Keeps the connection open and never answers, or cuts it without an answer. */
  fault?: 'hang' | 'disconnect'
}

type HttpHandler = (request: ReceivedRequest) => ReceiverResponse | undefined | Promise<ReceiverResponse | undefined>

export interface HttpReceiver {
  readonly url: string
  readonly port: number
  readonly requests: readonly ReceivedRequest[]
  readonly waitFor: WaitFor<ReceivedRequest>
  /** Answers differently from now on. */
  respondWith(handler: HttpHandler): void
  close(): Promise<void>
}

/** Listens on 127.0.0.1, records every request once its body is read, then answers 200 or what `handler` decides. */
export async function startHttpReceiver(
  handler: HttpHandler = () => undefined,
  options: { port?: number; host?: string } = {},
): Promise<HttpReceiver> {
  const requests: ReceivedRequest[] = []
  const closing = new AbortController()
  let answerTo = handler
  const server = createServer((incoming, response) => {
    const work = async () => {
      const { method = '', url = '', headers } = incoming
      const received = { method, url, headers, body: await buffer(incoming), receivedAt: new Date() }
      requests.push(received)
      await sendAnswer(response, (await answerTo(received)) ?? {}, closing.signal)
    }
    // A sender that hung up, or a receiver that was closed meanwhile, is what some tests are about.
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
    waitFor: waiter(requests, 'requests', ({ method, url }) => `${method} ${url}`),
    respondWith: (next) => void (answerTo = next),
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function sendAnswer(response: ServerResponse, answer: ReceiverResponse, signal: AbortSignal): Promise<void> {
  if (answer.delayMs) await pause(answer.delayMs, undefined, { signal })
  if (answer.fault === 'hang') return
  if (answer.fault === 'disconnect') return void response.destroy()
  response.writeHead(answer.status ?? 200, answer.headers)
  const { body = '' } = answer
  if (typeof body === 'string' || Buffer.isBuffer(body)) response.end(body)
  else
    Readable.from(body, { signal })
      .on('error', () => response.destroy())
      .pipe(response)
}

/** Throws unless the request is signed with the webhook's secret as Standard Webhooks has it. Answers the body. */
export function verifySignature(request: ReceivedRequest | undefined, secret: string): unknown {
  if (!request) throw new Error('No request has come')
  return new Webhook(secret).verify(request.body.toString(), request.headers as Record<string, string>)
}

// ── SMTP ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ReceivedMail {
  /** The envelope's, not the headers'. */
  readonly from: string
  readonly to: readonly string[]
  /** By lower-case name; of several with one name the first. */
  readonly headers: Readonly<Record<string, string>>
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly raw: Buffer
  readonly receivedAt: Date
}

/** 450 and 550 refuse the recipient; the rest takes the whole mail, and is recorded, before it delays, hangs or hangs up. */
export type SmtpDecision = 'accept' | 450 | 550 | { delayMs: number } | 'hang after data' | 'disconnect after data'

type SmtpDecide = (recipient: string) => SmtpDecision

export interface SmtpReceiver {
  readonly url: string
  readonly port: number
  readonly mails: readonly ReceivedMail[]
  readonly waitFor: WaitFor<ReceivedMail>
  /** Decides differently from now on. */
  decide(decide: SmtpDecide): void
  close(): Promise<void>
}

/** Listens on 127.0.0.1 without TLS or login, records every mail, and accepts every recipient unless `decide` says otherwise. */
export async function startSmtpReceiver(options: { decide?: SmtpDecide; port?: number } = {}): Promise<SmtpReceiver> {
  const mails: ReceivedMail[] = []
  const sockets = new Map<number | undefined, Socket>()
  const closing = new AbortController()
  let decide: SmtpDecide = options.decide ?? (() => 'accept')

  const takeMail = async (stream: Readable, session: SMTPServerSession) => {
    mails.push(await readMail(await buffer(stream), session))
    for (const { address } of session.envelope.rcptTo) {
      const decision = decide(address)
      if (typeof decision === 'object') await pause(decision.delayMs, undefined, { signal: closing.signal })
      if (decision === 'hang after data') return 'no answer'
      if (decision === 'disconnect after data') {
        sockets.get(session.remotePort)?.destroy()
        return 'no answer'
      }
    }
    return 'accepted'
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    closeTimeout: 1,
    onRcptTo({ address }, _session, done) {
      const decision = decide(address)
      if (typeof decision !== 'number') return done()
      done(Object.assign(new Error(`${address} is refused`), { responseCode: decision }))
    },
    onData(stream, session, done) {
      takeMail(stream, session).then(
        (outcome) => (outcome === 'accepted' ? done() : undefined),
        (error: unknown) => done(error as Error),
      )
    },
  })
  // Senders that hang up are what some tests are about.
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
    waitFor: waiter(mails, 'mails', ({ to, subject }) => `"${subject}" to ${to.join(', ')}`),
    decide: (next) => void (decide = next),
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        for (const socket of sockets.values()) socket.destroy()
      }),
  }
}

async function readMail(raw: Buffer, session: SMTPServerSession): Promise<ReceivedMail> {
  const { headers, subject = '', text = '', html = '' } = await PostalMime.parse(raw)
  const { mailFrom, rcptTo } = session.envelope
  return {
    from: mailFrom ? mailFrom.address : '',
    to: rcptTo.map(({ address }) => address),
    headers: Object.fromEntries(headers.toReversed().map(({ key, value }) => [key.toLowerCase(), value])),
    subject,
    text,
    html,
    raw,
    receivedAt: new Date(),
  }
}

function waiter<Item>(items: readonly Item[], noun: string, describe: (item: Item) => string): WaitFor<Item> {
  const came = () => `${items.length} came: ${items.slice(-10).map(describe).join('; ') || 'none'}`
  return (async (wanted: number | ((item: Item) => boolean), timeoutMs?: number) => {
    const limit = timeoutMs === undefined ? {} : { timeoutMs }
    if (typeof wanted !== 'number') {
      return waitUntil(() => items.find(wanted), { describe: () => `a match among the ${noun} (${came()})`, ...limit })
    }
    await waitUntil(() => items.length >= wanted, {
      describe: () => `${wanted} ${noun} have come (${came()})`,
      ...limit,
    })
    return items
  }) as WaitFor<Item>
}
