import type { Readable } from 'node:stream'
import type { DkimKey } from '@rapport/core/runtime/config.ts'
import type { MailOutcome } from '@rapport/core/mail/mails.ts'
import type { EncodedMail, OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import { createTransport, type SendMailOptions } from 'nodemailer'

export const mailConnections = 20

export interface MailTransport {
  send(mail: OutgoingMail | EncodedMail): Promise<MailOutcome>
  close(): void
}

/** The content of a mail is inline: nodemailer must not read a file or fetch a URL that an option names. */
const noAccess = { disableFileAccess: true, disableUrlAccess: true }

/**
 * A pool of SMTP connections that never sends a mail twice by itself: an error that is neither a refusal nor before the
 * first byte is ambiguous. With a key every mail is signed.
 */
export function openMailTransport(smtpUrl: string, dkim?: DkimKey): MailTransport {
  const smtp = createTransport({ ...poolOptions, url: withoutParameters(smtpUrl, Object.keys(poolOptions)) })
  smtp.use('stream', ({ message, data }, done) => {
    message.processFunc((stream) => {
      ;(data as WatchedMail).onStream(stream)
      return stream
    })
    done()
  })
  const sign = dkim && openSigner(dkim)
  return {
    async send(mail) {
      const composed = sign ? await sign(mailOptions(mail)) : mailOptions(mail)
      let stream: Readable | undefined
      const watched: WatchedMail = { ...composed, onStream: (latest) => (stream = latest) }
      try {
        await smtp.sendMail(watched)
        return { kind: 'sent' }
      } catch (error) {
        return classifyError(error, stream?.readableDidRead ?? false)
      }
    },
    close: () => smtp.close(),
  }
}

const poolOptions = {
  pool: true,
  maxConnections: mailConnections,
  maxMessages: Number.POSITIVE_INFINITY,
  // The server may have closed a connection while it was idle: nodemailer requeues a mail of which no byte was read.
  maxRequeues: 1,
  connectionTimeout: 5_000,
  greetingTimeout: 5_000,
  socketTimeout: 30_000,
  ...noAccess,
} as const

/** nodemailer prefers the parameters of a URL to its options, but these options carry our guarantees. */
function withoutParameters(url: string, names: readonly string[]): string {
  const result = new URL(url)
  for (const name of names) result.searchParams.delete(name)
  return result.href
}

/** nodemailer reads the stream of a message once the server has answered DATA. A second attempt has a stream of its own. */
type WatchedMail = SendMailOptions & { onStream: (stream: Readable) => void }

function mailOptions(mail: OutgoingMail | EncodedMail): SendMailOptions {
  const { from, to, replyTo, subject, messageId, headers } = mail
  return {
    from,
    to,
    ...(replyTo !== undefined && { replyTo }),
    subject,
    messageId,
    ...(headers && { headers }),
    envelope: { from: from.address, to: [to.address] },
    ...contentOf(mail),
  }
}

function contentOf(mail: OutgoingMail | EncodedMail): SendMailOptions {
  if ('parts' in mail)
    return {
      alternatives: mail.parts.map((part) => ({ raw: Buffer.from(part.buffer, part.byteOffset, part.byteLength) })),
    }
  return { text: mail.text, ...(mail.html !== undefined && { html: mail.html }) }
}

/** What a signature vouches for: all that we write, above all both fields of the one-click unsubscribe (RFC 8058). */
const signedFields = [
  ['From', 'Reply-To', 'To', 'Subject', 'Date', 'Message-ID', 'MIME-Version', 'Content-Type'],
  ['Content-Transfer-Encoding', 'List-Id', 'List-Unsubscribe', 'List-Unsubscribe-Post', 'Auto-Submitted'],
].flat()

/** Composes and signs before a connection is used: signing reads the whole message, which must not look like sending it. */
function openSigner({ domain, selector, privateKey }: DkimKey): (mail: SendMailOptions) => Promise<SendMailOptions> {
  const composer = createTransport({
    streamTransport: true,
    buffer: true,
    newline: 'windows',
    dkim: { domainName: domain, keySelector: selector, privateKey, headerFieldNames: signedFields.join(':') },
    ...noAccess,
  })
  return async (mail) => {
    const { message, envelope } = await composer.sendMail(mail)
    return { raw: message, envelope }
  }
}

interface SmtpError extends Error {
  code?: string
  command?: string
  responseCode?: number
  response?: string
}

/**
 * Surely refused: the server said so with a code. Surely unsent: not a byte of the message had left. Everything else may
 * have happened after the server took the mail, which the error does not tell.
 */
export function classifyError(error: unknown, isMessageStarted: boolean): MailOutcome {
  const { responseCode, response, code, message } = error as SmtpError
  const text = response ?? message ?? String(error)
  if (responseCode === undefined && isMessageStarted) return { kind: 'ambiguous', error: text }
  const temporary = responseCode === undefined ? code !== 'EENVELOPE' : responseCode < 500
  return { kind: 'refused', temporary, error: text, ...(affectsAllMails(error as SmtpError) && { affectsAll: true }) }
}

/**
 * Whether any other mail would be refused as well. A refusal of RCPT TO or DATA concerns one recipient or one
 * message.
 */
function affectsAllMails({ responseCode, command, code }: SmtpError): boolean {
  if (responseCode === undefined) return code !== 'EENVELOPE'
  return responseCode === 421 || !(command === 'RCPT TO' || command === 'DATA')
}
