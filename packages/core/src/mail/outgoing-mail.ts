import type { Parts } from './mime.ts'

/** A rendered mail, ready for the transport. */
export type OutgoingMail = MailHeader & Parts<string>

/** A mail with its text and its HTML, in this order, each encoded by `encodePart`. */
export type EncodedMail = MailHeader & { parts: Uint8Array[] }

/** Addresses stay apart from names: nobody ever parses a joined string. */
export interface MailHeader {
  from: { name: string; address: string }
  to: { name: string; address: string }
  replyTo?: string
  subject: string
  messageId: string
  headers?: Record<string, string>
}

/** Text for a header: no line break or other control character gets through. */
export function toHeaderText(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ').trim()
}

/** The domain under which identifiers of mails and lists are made. */
export function mailDomain(mailFrom: string): string {
  return mailFrom.slice(mailFrom.lastIndexOf('@') + 1)
}
