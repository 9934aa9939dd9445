/**
 * A mail as it goes over the wire (RFC 5322). The header is nodemailer's: folding, encoded words and the walls against
 * injection are its.
 */
import { encodeMime, onePiece, type Parts } from '@rapport/core/mail/mime.ts'
import type { EncodedMail, MailHeader, OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import MimeNode from 'nodemailer/lib/mime-node'

/** The whole message, with CRLF line ends. No line begins with a dot. */
export function buildMessage(mail: OutgoingMail | EncodedMail): Buffer {
  const content = 'mime' in mail ? [mail.mime] : encodeMime(piecesOf(mail))
  return Buffer.concat([Buffer.from(`${buildHead(mail)}\r\n`), ...content])
}

const piecesOf = ({ html, text }: Parts<string>) => ({
  ...(html !== undefined && { html: onePiece(html) }),
  text: onePiece(text),
})

/** Of no use here; nodemailer would roll dice for one. */
const baseBoundary = 'none'

function buildHead(mail: MailHeader): string {
  const node = new MimeNode(undefined, { disableFileAccess: true, disableUrlAccess: true, baseBoundary })
  node.setHeader({
    From: mail.from,
    To: mail.to,
    ...(mail.replyTo !== undefined && { 'Reply-To': mail.replyTo }),
    Subject: mail.subject,
    'Message-ID': mail.messageId,
    ...mail.headers,
  })
  return node.buildHeaders()
}
