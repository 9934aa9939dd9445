import { buffer } from 'node:stream/consumers'
import type { DkimKey } from '@rapport/core/config.ts'
import type { MailOutcome } from '@rapport/core/mail/mails.ts'
import type { EncodedMail, OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import DKIM from 'nodemailer/lib/dkim'
import { buildMessage } from './mail-message.ts'
import { openSmtpPool } from './smtp-pool.ts'

export const mailConnections = 20

export interface MailTransport {
  send(mail: OutgoingMail | EncodedMail): Promise<MailOutcome>
  close(): void
}

/**
 * A pool of SMTP connections that never sends a mail twice by itself: what is neither surely refused nor surely unsent
 * is called ambiguous. With a key every mail is signed.
 */
export function openMailTransport(smtpUrl: string, dkim?: DkimKey): MailTransport {
  const pool = openSmtpPool(smtpUrl, mailConnections)
  const sign = dkim && signer(dkim)
  return {
    async send(mail) {
      const message = buildMessage(mail)
      const signed = sign ? await sign(message) : message
      let hasBegun = false
      try {
        const envelope = { from: mail.from.address, to: [mail.to.address] }
        await pool.send(envelope, signed, () => (hasBegun = true))
        return { kind: 'sent' }
      } catch (error) {
        return judge(error, hasBegun)
      }
    },
    close: () => pool.close(),
  }
}

/** What a signature vouches for: all that we write, above all both fields of the one-click unsubscribe (RFC 8058). */
const signedFields = [
  ['From', 'Reply-To', 'To', 'Subject', 'Date', 'Message-ID', 'MIME-Version', 'Content-Type'],
  ['Content-Transfer-Encoding', 'List-Id', 'List-Unsubscribe', 'List-Unsubscribe-Post', 'Auto-Submitted'],
].flat()

function signer({ domain, selector, privateKey }: DkimKey): (message: Buffer) => Promise<Buffer> {
  const dkim = new DKIM({
    domainName: domain,
    keySelector: selector,
    privateKey,
    headerFieldNames: signedFields.join(':'),
  })
  return (message) => buffer(dkim.sign(message))
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
export function judge(error: unknown, hasBegun: boolean): MailOutcome {
  const { responseCode, response, code, message } = error as SmtpError
  const text = response ?? message ?? String(error)
  if (responseCode === undefined && hasBegun) return { kind: 'ambiguous', error: text }
  const temporary = responseCode === undefined ? code !== 'EENVELOPE' : responseCode < 500
  return { kind: 'refused', temporary, error: text, ...(blamesServer(error as SmtpError) && { blames: 'server' }) }
}

/** Whether any mail would meet the same: what is said of a recipient, or of a message, may be different for the next. */
function blamesServer({ responseCode, command, code }: SmtpError): boolean {
  if (responseCode === undefined) return code !== 'EENVELOPE'
  return responseCode === 421 || !(command === 'RCPT TO' || command === 'DATA')
}
