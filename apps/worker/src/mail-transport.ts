import type { MailOutcome } from '@rapport/core/mail/mails.ts'
import type { OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import { createTransport } from 'nodemailer'

export const mailConnections = 20

export interface MailTransport {
  send(mail: OutgoingMail): Promise<MailOutcome>
  close(): void
}

/**
 * A pool of SMTP connections that never sends a mail twice by itself: nodemailer's re-queueing on a closed connection
 * is off, and what is not surely refused is called ambiguous.
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
  return {
    async send(mail) {
      try {
        await transport.sendMail({ ...mail, envelope: { from: mail.from.address, to: [mail.to.address] } })
        return { kind: 'sent' }
      } catch (error) {
        return judge(error)
      }
    },
    close: () => transport.close(),
  }
}

interface SmtpError extends Error {
  code?: string
  syscall?: string
  responseCode?: number
  response?: string
}

/**
 * Surely refused: the server said so with a code, or there never was a connection. Everything else may have happened
 * after the server took the mail, which the error does not tell.
 */
export function judge(error: unknown): MailOutcome {
  const { responseCode, response, syscall, code, message } = error as SmtpError
  const text = response ?? message ?? String(error)
  if (responseCode !== undefined) return { kind: 'refused', temporary: responseCode < 500, error: text }
  if (syscall === 'connect' || syscall === 'getaddrinfo' || code === 'EDNS') {
    return { kind: 'refused', temporary: true, error: text }
  }
  if (code === 'EENVELOPE') return { kind: 'refused', temporary: false, error: text }
  return { kind: 'ambiguous', error: text }
}
