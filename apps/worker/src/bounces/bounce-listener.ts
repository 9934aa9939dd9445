/**
 * The SMTP server for bounces. It accepts mail for valid return paths and for the feedback loops only, relays nothing and
 * answers nothing. The
 * response 250 follows the commit: if the process is killed in between, the sender repeats the mail, which then is a no-op.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { limitConcurrency } from '@rapport/core/kernel/concurrency/limit-concurrency.ts'
import type { BaseCtx } from '@rapport/core/request/context.ts'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import { type ConnectionLimits, limitConnections } from './limit-connections.ts'
import { type ListenOptions, listenWhenFree } from './listen-when-free.ts'
import { maxMessageBytes, maxRecipients } from './parsing/mail-limits.ts'
import type { MailParser } from './parsing/mail-parser.ts'
import { findValidToken, isFeedbackAddress, recordBounceMail, recordFeedback } from './record-bounce-mail.ts'

export interface BounceListenerOptions extends ListenOptions, ConnectionLimits {
  parser: Pick<MailParser, 'read'>
}

const maxRefusals = 10
/** A second one, so that no lock stops all. */
const maxConcurrent = 2
/** After a commit, and after parsing, which uses the processor for up to two seconds. */
const [maxRestMs, maxParsingRestMs] = [100, 4_000]

export async function openBounceListener(
  base: Omit<BaseCtx, 'requestId'>,
  { parser, commandMs, messageMs, connectionMs, ...options }: BounceListenerOptions,
): Promise<{ port: number; close(): Promise<void> }> {
  const { port, log } = options
  const limit = limitConcurrency(maxConcurrent)
  const refusals = new WeakMap<SMTPServerSession, number>()
  const server = new SMTPServer({
    size: maxMessageBytes,
    disabledCommands: ['AUTH', 'STARTTLS'],
    hideSTARTTLS: true,
    disableReverseLookup: true,
    socketTimeout: Math.min(30_000, connectionMs),
    closeTimeout: 1_000,
    onMailFrom(_address, session, done) {
      connections.expectCommand(session)
      done()
    },
    onRcptTo({ address }, session, done) {
      connections.expectCommand(session)
      const refused = refusals.get(session) ?? 0
      if (refused >= maxRefusals) return done(refusal(421, '4.7.0 Too many unknown recipients'))
      if (session.envelope.rcptTo.length >= maxRecipients) return done(refusal(452, '4.5.3 Too many recipients'))
      if (isFeedbackAddress(address) || findValidToken(base.settings, address) !== undefined) return done()
      refusals.set(session, refused + 1)
      done(refusal(550, '5.1.1 No such recipient'))
    },
    onData(stream, session, done) {
      connections.expectMessage(session)
      receive(stream, session)
        .finally(() => connections.expectCommand(session))
        .then(
          () => done(),
          (error: unknown) => done(error as Error),
        )
    },
  })
  const connections = limitConnections(server.server, { commandMs, messageMs, connectionMs })

  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const raw = await readMessage(stream)
    connections.expectNothing(session)
    const content = await repeatLater(() => parser.read(raw), maxParsingRestMs)
    if (content === undefined) return
    const addresses = session.envelope.rcptTo.map(({ address }) => address)
    const tokens = new Set(addresses.flatMap((address) => findValidToken(base.settings, address) ?? []))
    for (const token of tokens) await commit((base) => recordBounceMail(base, token, content))
    if (!addresses.some(isFeedbackAddress)) return
    const isKnown = await commit((base) => recordFeedback(base, content))
    if (isKnown || tokens.size > 0) return
    refusals.set(session, (refusals.get(session) ?? 0) + 1)
    throw refusal(550, '5.6.0 The message contains no email of this server')
  }

  const commit = (work: (base: BaseCtx) => Promise<boolean>) => repeatLater((requestId) => work({ ...base, requestId }))

  async function repeatLater<Result>(
    work: (requestId: string) => Promise<Result>,
    restMs = maxRestMs,
  ): Promise<Result> {
    const requestId = `bounce-${randomUUID()}`
    return limit(() => restAfter(() => work(requestId), restMs)).catch((error: unknown) => {
      log.warn({ err: error, requestId }, 'bounce not recorded; the sender will repeat it')
      throw refusal(451, '4.3.0 Try again later')
    })
  }

  // Errors of single connections are ignored.
  server.on('error', () => {})
  const listening = await listenWhenFree(server.server, options)
  return {
    /** The port that the system chose, if `port` is 0. */
    port: portOf(server) ?? port,
    async close() {
      await listening.stop()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/**
 * Rests twice as long as the work took, so that campaigns get the processor first: a server that sends a bounce can wait.
 * Work that took long has waited for a lock and used no processor, so the rest is limited. A campaign beside 10,000 bounces
 * a minute keeps 0.99 of its rate instead of 0.68 (`pnpm bench bounces`, 2026-11-26).
 */
async function restAfter<Result>(work: () => Promise<Result>, maxMs: number): Promise<Result> {
  const startedAt = performance.now()
  try {
    return await work()
  } finally {
    await sleep(Math.min(maxMs, 2 * (performance.now() - startedAt)))
  }
}

function portOf(server: SMTPServer): number | undefined {
  const address = server.server.address()
  return typeof address === 'object' ? address?.port : undefined
}

const refusal = (responseCode: number, message: string) => Object.assign(new Error(message), { responseCode })

async function readMessage(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  // SMTP cannot interrupt the sender, so a message that is too large is read to its end and discarded.
  for await (const chunk of stream) {
    if (stream.sizeExceeded) chunks.length = 0
    else chunks.push(chunk as Buffer)
  }
  if (stream.sizeExceeded) throw refusal(552, '5.3.4 The message exceeds 512 KiB')
  return Buffer.concat(chunks)
}
