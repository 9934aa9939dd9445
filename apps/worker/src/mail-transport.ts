import type { Readable } from 'node:stream'
import type { MailOutcome } from '@rapport/core/mail/mails.ts'
import type { OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import { createTransport, type SendMailOptions } from 'nodemailer'

export const mailConnections = 20

export interface MailTransport {
  send(mail: OutgoingMail): Promise<MailOutcome>
  close(): void
}

/**
 * A pool of SMTP connections that never sends a mail twice by itself: nodemailer's re-queueing on a closed connection
 * is off, and what is neither surely refused nor surely unsent is called ambiguous.
 */
export function openMailTransport(smtpUrl: string): MailTransport {
  const transport = createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: mailConnections,
    maxMessages: Number.POSITIVE_INFINITY,
    maxRequeues: 0,
    connectionTimeout: 5_000,
    greetingTimeout: 5_000,
    socketTimeout: 30_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  } as Parameters<typeof createTransport>[0])
  transport.use('stream', ({ message, data }, done) => {
    const createReadStream = message.createReadStream.bind(message)
    message.createReadStream = (options) => ((data as Wire).wire.stream = createReadStream(options))
    done()
  })
  return {
    async send(mail) {
      const wire: Wire['wire'] = {}
      try {
        const envelope = { from: mail.from.address, to: [mail.to.address] }
        await transport.sendMail({ ...mail, envelope, wire } as SendMailOptions)
        return { kind: 'sent' }
      } catch (error) {
        return judge(error, wire.stream?.readableDidRead === true)
      }
    },
    close: () => transport.close(),
  }
}

/** The message on its way: nodemailer reads it only when the server has asked for it, which is after DATA. */
interface Wire {
  wire: { stream?: Readable }
}

interface SmtpError extends Error {
  code?: string
  responseCode?: number
  response?: string
}

/**
 * Surely refused: the server said so with a code. Surely unsent: not a byte of the message had left. Everything else may
 * have happened after the server took the mail, which the error does not tell.
 */
export function judge(error: unknown, hasBegun: boolean): MailOutcome {
  const { responseCode, response, code, message } = error as SmtpError
  const text = response ?? message ?? String(error)
  if (responseCode !== undefined) return { kind: 'refused', temporary: responseCode < 500, error: text }
  if (hasBegun) return { kind: 'ambiguous', error: text }
  return { kind: 'refused', temporary: code !== 'EENVELOPE', error: text }
}
