/**
 * Reads what a mail reports: a delivery report (RFC 3464, RFC 6533), a complaint, the
 * bounce of qmail, or a bounce without a format. Mails that are no bounce, such as an out-of-office reply or a report
 * of a delay, report nothing. The content is untrusted: it only says what happened, never to whom.
 */
import type { Email } from 'postal-mime'
import { parseDeliveryStatus } from './delivery-status.ts'
import { findReportedTokens, readFeedback } from './feedback-report.ts'
import { findParts, parseMail } from './parse-mail.ts'
import type { BounceReport, MailContent } from './parsed-report.ts'
import { parseUnformatted } from './unformatted-bounce.ts'

/** Undefined: the mail has too deep parts, or too long headers. */
export async function readMail(raw: Uint8Array): Promise<MailContent | undefined> {
  const mail = await parseMail(raw)
  if (!mail) return undefined
  const tokens = findReportedTokens(mail, raw)
  const feedback = readFeedback(mail)
  if (feedback !== null) return { tokens, ...(feedback && { complaint: feedback }) }
  const bounce = readBounce(mail, raw)
  return { tokens, ...(bounce && { bounce }) }
}

function readBounce(mail: Email, raw: Uint8Array): BounceReport | undefined {
  // A read receipt (RFC 8098), also of a mail that was deleted unread.
  if (findParts(mail, /^message\/(global-)?disposition-notification$/) !== undefined) return undefined
  const text = readText(mail, raw)
  const status = findParts(mail, /^message\/(global-)?delivery-status$/) ?? findFields(text) ?? findNamedPart(mail)
  return (status === undefined ? undefined : parseDeliveryStatus(status, text)) ?? parseUnformatted(mail, text)
}

const maxTextLength = 64 * 1024

/** The explanation for people, without the returned mail that may follow it. A mail with a damaged structure is all text. */
function readText({ text, html, attachments }: Email, raw: Uint8Array): string {
  if (text !== undefined) return toLines(text)
  if (html !== undefined)
    return toLines(html.replace(/<(?:br|\/p|\/div|\/tr)\b[^>]{0,200}>/gi, '\n').replace(/<[^>]{0,500}>/g, ''))
  return attachments.length > 0 ? '' : toLines(Buffer.from(raw).toString())
}

const toLines = (text: string) => text.slice(0, maxTextLength).replaceAll('\r\n', '\n')

/** A delivery status under another type, such as a file `details.txt`. The returned email is none. */
function findNamedPart(mail: Email): string | undefined {
  const other = findParts(mail, /^(?!message\/rfc822$|text\/rfc822|message\/global)/)
  return other === undefined ? undefined : findFields(other.slice(0, maxTextLength).replaceAll('\r\n', '\n'))
}

/** A delivery status that a server or a gateway sent as text. */
function findFields(text: string): string | undefined {
  const start = /^(?:original|final)-recipient:.{0,1000}$/im.exec(text)?.index
  if (start === undefined || !/^(?:action|status):/im.test(text)) return undefined
  const begin = text.lastIndexOf('\n\n', start)
  return text.slice(begin + 1)
}
