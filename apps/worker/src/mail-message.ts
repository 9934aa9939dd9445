/**
 * A mail as it goes over the wire (RFC 5322, MIME). The header is nodemailer's: folding, encoded words and the walls
 * against injection are its. The body is written here, as nodemailer's way of streams would take most of a campaign's time.
 */
import { randomBytes } from 'node:crypto'
import type { OutgoingMail } from '@rapport/core/mail/outgoing-mail.ts'
import MimeNode from 'nodemailer/lib/mime-node'

/** The whole message, with CRLF line ends. Text alone is one part; with HTML it is an alternative of both. */
export function buildMessage(mail: OutgoingMail): Buffer {
  if (mail.html === undefined) {
    const head = buildHead(mail, textPart)
    return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), toQuotedPrintable(mail.text)])
  }
  const boundary = `=_${randomBytes(16).toString('hex')}`
  const head = buildHead(mail, { 'Content-Type': `multipart/alternative; boundary="${boundary}"` })
  const part = (type: string, body: string) => [
    Buffer.from(`\r\n--${boundary}\r\n${partHead(type)}\r\n\r\n`),
    toQuotedPrintable(body),
  ]
  return Buffer.concat([
    Buffer.from(`${head}\r\n`),
    ...part('plain', mail.text),
    ...part('html', mail.html),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
}

const encoding = 'quoted-printable'
const textPart = { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Transfer-Encoding': encoding }
const partHead = (type: string) => `Content-Type: text/${type}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}`

function buildHead(mail: OutgoingMail, content: Record<string, string>): string {
  const node = new MimeNode(undefined, { disableFileAccess: true, disableUrlAccess: true })
  node.setHeader({
    From: mail.from,
    To: mail.to,
    ...(mail.replyTo !== undefined && { 'Reply-To': mail.replyTo }),
    Subject: mail.subject,
    'Message-ID': mail.messageId,
    ...mail.headers,
    ...content,
  })
  return node.buildHeaders()
}

const [tab, lineFeed, carriageReturn, space, equals] = [9, 10, 13, 32, 61]
const hexDigits = Buffer.from('0123456789ABCDEF')
/** With the mark of a soft line break a line has 76 characters at most. */
const longestLine = 75

/** Text in quoted-printable (RFC 2045): ASCII in short lines, whatever is in it, and line ends CRLF. */
export function toQuotedPrintable(text: string): Buffer {
  const bytes = Buffer.from(text.replace(/\r\n?/g, '\n'))
  // Every byte as three, and a soft line break of three for every line of them.
  const out = Buffer.allocUnsafe(Math.ceil(bytes.length * 3.2) + 8)
  let [size, column] = [0, 0]
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === lineFeed) {
      out[size++] = carriageReturn
      out[size++] = lineFeed
      column = 0
      continue
    }
    const isBlank = byte === space || byte === tab
    const isLast = at + 1 === bytes.length || bytes[at + 1] === lineFeed
    const isLiteral = isBlank ? !isLast : byte > space && byte < 127 && byte !== equals
    column += isLiteral ? 1 : 3
    if (column > longestLine) {
      out[size++] = equals
      out[size++] = carriageReturn
      out[size++] = lineFeed
      column = isLiteral ? 1 : 3
    }
    if (isLiteral) {
      out[size++] = byte
      continue
    }
    out[size++] = equals
    out[size++] = hexDigits[byte >> 4] ?? 0
    out[size++] = hexDigits[byte & 15] ?? 0
  }
  return out.subarray(0, size)
}
