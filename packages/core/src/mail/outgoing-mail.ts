import type { Parts } from './mime.ts'

/** A rendered mail, ready for the transport. */
export type OutgoingMail = MailHeader & Parts<string>

/** A mail whose parts, text and HTML in this order, were encoded by `encodePart`. */
export type EncodedMail = MailHeader & { parts: Uint8Array[] }

/** Names and addresses are separate, so that no joined string has to be parsed. */
export interface MailHeader {
  from: { name: string; address: string }
  to: { name: string; address: string }
  /** The sender in the envelope, to which servers send bounces. Default: the address of `from`. */
  returnPath?: string
  replyTo?: string
  subject: string
  messageId: string
  headers?: Record<string, string>
}

/**
 * Replaces line breaks and other control characters, so that text cannot inject a header. Separates the start of an
 * encoded word (RFC 2047), such as `=?utf-8?Q?…?=`: mail programs would show what it hides, also inside quotes.
 */
export function toHeaderText(text: string): string {
  return text
    .replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ')
    .replace(/=\?(?=[\w*-]+\?[bq]\?)/gi, '= ?')
    .trim()
}

/** Returns the domain of an address. Message ids and list ids are created under the domain of `MAIL_FROM`. */
export function mailDomain(mailFrom: string): string {
  return mailFrom.slice(mailFrom.lastIndexOf('@') + 1)
}
