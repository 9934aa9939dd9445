import type { Readable } from 'node:stream'
import type { DkimKey } from '@rapport/core/runtime/config.ts'
import { escapeRegExp } from '@rapport/core/kernel/values/encode-text.ts'
import { cleanDetail } from '@rapport/core/mail/bounces/clean-text.ts'
import { classifyBounce } from '@rapport/core/mail/bounces/classify-bounce.ts'
import type { MailOutcome } from '@rapport/core/mail/mails.ts'
import type { EncodedMail, MailAttachment, OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import { findProviderMessageId } from '@rapport/core/mail/providers/provider-message-id.ts'
import { createConnectionSlots, mailConnections, type MailSource } from './connection-slots.ts'
import { signMessage } from './dkim-signature.ts'
import { createTransport, type SendMailOptions } from 'nodemailer'

export interface MailTransport {
  /**
   * Sends a mail, a single one by default, once a connection is free for it. If that takes more than a second, `check` runs
   * then, and again while its own answer takes longer: an outcome that it returns is the outcome of the mail, which is not
   * sent.
   */
  send<Refused = never>(
    mail: OutgoingMail | EncodedMail,
    check?: LateCheck<Refused>,
    source?: MailSource,
  ): Promise<MailOutcome | Refused>
  close(): void
}

export interface LateCheck<Refused> {
  /** By `Date.now()`, which goes on while the process is frozen. */
  askedAt: number
  ask: () => Promise<Refused | undefined>
}

/** How old an answer may be when its mail is sent. */
const maxAnswerAgeMs = 1_000
const maxQuestions = 3

/** All content of a mail is inline, so nodemailer never needs to read a file or fetch a URL. */
const noAccess = { disableFileAccess: true, disableUrlAccess: true }

/**
 * Opens a pool of SMTP connections that sends each mail at most once. An error after the first byte of the message,
 * without a response code, is ambiguous. A mail is signed with the key of its domain, or with that of the installation.
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
  const sign = openSigner()
  const slots = createConnectionSlots()
  return {
    async send(mail, check, source = 'single') {
      await slots.take(source)
      try {
        const refused = check && (await askWhileLate(check))
        return refused ?? (await sendNow(mail))
      } finally {
        slots.free(source)
      }
    },
    close: () => smtp.close(),
  }

  async function sendNow(mail: OutgoingMail | EncodedMail): Promise<MailOutcome> {
    const key = mail.dkim ?? dkim
    const composed = key ? await sign(mailOptions(mail), key) : mailOptions(mail)
    let stream: Readable | undefined
    const watched: WatchedMail = { ...composed, onStream: (latest) => (stream = latest) }
    try {
      const { response } = await smtp.sendMail(watched)
      return { kind: 'sent', providerMessageId: findProviderMessageId(response) }
    } catch (error) {
      return hideAddress(classifyError(error, stream?.readableDidRead ?? false), mail.to.address)
    }
  }
}

/** The answer to a question may be old too: then it is asked again. Gives up after `maxQuestions`. */
async function askWhileLate<Refused>({ askedAt, ask }: LateCheck<Refused>): Promise<MailOutcome | Refused | undefined> {
  let latest = askedAt
  for (let round = 0; Date.now() - latest > maxAnswerAgeMs; round++) {
    if (round === maxQuestions) return { kind: 'refused', temporary: true, error: 'The mail waited too long' }
    latest = Date.now()
    const refused = await ask()
    if (refused !== undefined) return refused
  }
  return undefined
}

const poolOptions = {
  pool: true,
  maxConnections: mailConnections,
  maxMessages: Number.POSITIVE_INFINITY,
  // The server may have closed an idle connection. nodemailer retries a mail only if no byte of it was read.
  maxRequeues: 1,
  connectionTimeout: 5_000,
  greetingTimeout: 5_000,
  socketTimeout: 30_000,
  ...noAccess,
} as const

/** nodemailer lets URL parameters override options. These options must not change, as they prevent duplicate mails. */
function withoutParameters(url: string, names: readonly string[]): string {
  const result = new URL(url)
  for (const name of names) result.searchParams.delete(name)
  return result.href
}

/** nodemailer reads the message stream after the server has accepted DATA. A second attempt has another stream. */
type WatchedMail = SendMailOptions & { onStream: (stream: Readable) => void }

function mailOptions(mail: OutgoingMail | EncodedMail): SendMailOptions {
  const { from, to, returnPath, replyTo, subject, messageId, headers } = mail
  return {
    from,
    to,
    ...(replyTo !== undefined && { replyTo }),
    subject,
    messageId,
    ...(headers && { headers }),
    envelope: { from: returnPath ?? from.address, to: [to.address] },
    ...contentOf(mail),
  }
}

function contentOf(mail: OutgoingMail | EncodedMail): SendMailOptions {
  if ('parts' in mail)
    return {
      alternatives: mail.parts.map((part) => ({ raw: Buffer.from(part.buffer, part.byteOffset, part.byteLength) })),
    }
  const { text, html, attachment } = mail
  return { text, ...(html !== undefined && { html }), ...(attachment && { attachments: [toAttachment(attachment)] }) }
}

const toAttachment = ({ name, type, content }: MailAttachment) => ({ filename: name, contentType: type, content })

/** Composes and signs the mail before it is sent: signing reads the whole message, which must not count as sending. */
function openSigner(): (mail: SendMailOptions, key: DkimKey) => Promise<SendMailOptions> {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows', ...noAccess })
  return async (mail, key) => {
    const { message, envelope } = await composer.sendMail(mail)
    return { raw: await signMessage(message as Buffer, key), envelope }
  }
}

/**
 * Servers quote the address of the recipient. The text is logged, and may be recorded for other recipients too: see
 * `decideOutcomes`. A longer word that contains it, such as a token, is hidden as a whole: without the address,
 * `hideValues` might take it for a plain one. The code before a line that is not the last one, as `550-`, stays.
 */
function hideAddress(outcome: MailOutcome, address: string): MailOutcome {
  if (outcome.kind === 'sent') return outcome
  const quoted = new RegExp(escapeRegExp(address), 'gi')
  const error = outcome.error.replace(/(^[245]\d\d-)?(\S+)/gm, (_, code: string | undefined, word: string) => {
    const rest = word.replace(quoted, '')
    return (code ?? '') + (rest !== word && /\w/.test(rest) ? '[value]' : word.replace(quoted, 'recipient'))
  })
  return { ...outcome, error }
}

interface SmtpError extends Error {
  code?: string
  command?: string
  responseCode?: number
  response?: string
}

/**
 * A mail was refused if the server returned a code, and was not sent if no byte of the message was read. Any other
 * error is ambiguous: the server may have accepted the mail before.
 */
export function classifyError(error: unknown, isMessageStarted: boolean): MailOutcome {
  const { responseCode, response, code, message } = error as SmtpError
  const text = cleanDetail(response ?? message ?? String(error))
  const said = { error: text, ...(response !== undefined && { isResponse: true }) }
  if (responseCode === undefined && isMessageStarted) return { kind: 'ambiguous', ...said }
  const temporary = responseCode === undefined ? code !== 'EENVELOPE' : responseCode < 500
  if (affectsAllMails(error as SmtpError)) return { kind: 'refused', temporary, ...said, affectsAll: true }
  const bounce = responseCode !== undefined && { bounce: classifyBounce({ smtpCode: responseCode, text }) }
  return { kind: 'refused', temporary, ...said, ...bounce }
}

/** Whether every other mail would be refused too. A refused RCPT TO or DATA concerns one recipient or one message. */
function affectsAllMails({ responseCode, command, code }: SmtpError): boolean {
  if (responseCode === undefined) return code !== 'EENVELOPE'
  return responseCode === 421 || !(command === 'RCPT TO' || command === 'DATA')
}
