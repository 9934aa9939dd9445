/**
 * Reads what a mail to a return path reports: a delivery report (RFC 3464, RFC 6533), a complaint (ARF, RFC 5965), the
 * bounce of qmail, or a bounce without a format. Mails that are no bounce, such as an out-of-office reply or a report
 * of a delay, report nothing. The content is untrusted: it only says what happened, never to whom.
 */
import { type Bounce, classifyBounce } from '@rapport/core/mail/bounces/classify-bounce.ts'
import { isComplaint } from '@rapport/core/mail/bounces/feedback-type.ts'
import PostalMime, { type Email } from 'postal-mime'
import { type Fields, maxGroups, parseFieldGroups } from './field-groups.ts'

export type ParsedReport = { detail: string; emails: string[] } & (
  | { type: 'BOUNCE'; bounce: Bounce }
  | { type: 'COMPLAINT' }
)

const parserOptions = {
  forceRfc822Attachments: true,
  attachmentEncoding: 'utf8',
  maxNestingDepth: 20,
  maxHeadersSize: 128 * 1024,
} as const

/** `isRecipient`: whether the mail that the report is about was sent to the address. Undefined: it reports nothing. */
export async function parseReport(
  raw: Uint8Array,
  isRecipient: (email: string) => boolean,
): Promise<ParsedReport | undefined> {
  const mail = await PostalMime.parse(raw, parserOptions).catch(() => undefined)
  if (!mail) return undefined
  const complaint = findPart(mail, /^message\/feedback-report$/)
  if (complaint !== undefined) return parseComplaint(complaint)
  const status = findPart(mail, /^message\/(global-)?delivery-status$/)
  if (status !== undefined) return parseDeliveryStatus(status, isRecipient)
  return parseUnformatted(mail, isRecipient)
}

function findPart(mail: Email, type: RegExp): string | undefined {
  const part = mail.attachments.find(({ mimeType }) => type.test(mimeType))
  return typeof part?.content === 'string' ? part.content : undefined
}

function parseComplaint(text: string): ParsedReport | undefined {
  const [fields = new Map<string, string>()] = parseFieldGroups(text)
  const type = fields.get('feedback-type')?.toLowerCase() ?? 'abuse'
  if (!isComplaint(type)) return undefined
  const emails = addressesOf(fields, ['original-rcpt-to', 'removal-recipient'])
  return { type: 'COMPLAINT', emails, detail: type }
}

interface Group {
  emails: string[]
  hasFailed: boolean
  bounce: Bounce
  detail: string
}

/** A report has a group of fields for each recipient, after those of the message. */
function parseDeliveryStatus(text: string, isRecipient: (email: string) => boolean): ParsedReport | undefined {
  const groups = parseFieldGroups(text).filter((fields) => fields.has('final-recipient') || fields.has('action'))
  const group = selectGroup(groups.map(toGroup), isRecipient)
  if (!group?.hasFailed) return undefined
  return { type: 'BOUNCE', emails: group.emails, bounce: group.bounce, detail: group.detail }
}

function toGroup(fields: Fields): Group {
  const diagnostic = fields.get('diagnostic-code') ?? ''
  const isSmtp = /^\s*smtp\s*;/i.test(diagnostic)
  const text = diagnostic.replace(/^[^;]{0,40};\s*/, '')
  const [smtpCode] = (isSmtp && /^[45]\d\d/.exec(text)) || []
  const bounce = classifyBounce({
    enhancedCode: fields.get('status'),
    smtpCode: smtpCode ? Number(smtpCode) : null,
    text,
  })
  return {
    emails: addressesOf(fields, ['original-recipient', 'final-recipient', 'x-original-to']),
    hasFailed: /^failed\b/i.test(fields.get('action') ?? ''),
    bounce,
    detail: text || (fields.get('status') ?? ''),
  }
}

/**
 * The group of the recipient. A mail to an address that forwards to several others has a group for each: it bounced only
 * if it reached none of them, and the mildest class counts.
 */
function selectGroup(groups: readonly Group[], isRecipient: (email: string) => boolean): Group | undefined {
  const own = groups.find(({ emails }) => emails.some(isRecipient))
  if (own || groups.length === 1) return own ?? groups[0]
  if (!groups.every(({ hasFailed }) => hasFailed)) return undefined
  return groups.find(({ bounce }) => bounce.class !== 'HARD') ?? groups[0]
}

/** No address is as long, with its type and encoded. */
const maxValueLength = 1_000

/** Types such as `rfc822;` come before the address, and the original recipient is encoded as `xtext` (RFC 3461). */
function addressesOf(fields: Fields, names: readonly string[]): string[] {
  const values = names.flatMap((name) => fields.get(name) ?? []).filter((value) => value.length <= maxValueLength)
  const addresses = values.map((value) =>
    value
      .replace(/^[^;@]{0,40};/, '')
      .trim()
      .replace(/^<|>$/g, ''),
  )
  const decoded = addresses.map((address) =>
    address.replace(/\+([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  )
  return [...new Set([...addresses, ...decoded])].filter((address) => address.includes('@') && address.length <= 320)
}

// Both are bounded, because `^` matches after more characters than \n: else the time would grow with the square.
const qmailIntroduction = /^Hi\. This is the .{0,200}(?:qmail|program at)/m
const qmailParagraph = /^<([^>\n]{0,320})>:[ ]*\n([\s\S]*?)(?:\n\n|(?![\s\S]))/gm

/** The bounce of qmail has a paragraph for each recipient, with a reason of one or more lines, and then the email. */
function parseQmail(text: string, isRecipient: (email: string) => boolean): ParsedReport {
  const [report = ''] = text.replaceAll('\r\n', '\n').split(/^--- Below this line is/m, 1)
  const paragraphs = [...report.matchAll(qmailParagraph)].slice(0, maxGroups)
  const groups = paragraphs.map(([, email = '', reason = '']) => ({
    emails: [email],
    hasFailed: true,
    bounce: classifyBounce({ text: reason }),
    detail: reason,
  }))
  const none = { emails: [], bounce: classifyBounce({}), detail: '' }
  const { emails, bounce, detail } = selectGroup(groups, isRecipient) ?? none
  return { type: 'BOUNCE', emails, bounce, detail }
}

/**
 * A bounce that has no delivery status, such as that of qmail and of old Exim. Its words may be in any language, so
 * without the format of qmail it is SOFT.
 */
function parseUnformatted(mail: Email, isRecipient: (email: string) => boolean): ParsedReport | undefined {
  const text = mail.text ?? ''
  const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value
  if (qmailIntroduction.test(text)) return parseQmail(text, isRecipient)
  const failed = header('x-failed-recipients')
  if (failed === undefined && !isFromMailServer(mail, header)) return undefined
  const [quoted = ''] = /^.*\b[45]\d\d[ -].*$/m.exec(text) ?? []
  const { code } = classifyBounce({ text: quoted })
  return {
    type: 'BOUNCE',
    emails: failed?.split(/[\s,]+/) ?? [],
    bounce: { class: 'SOFT', code },
    detail: quoted,
  }
}

const automaticReply = /^auto-(replied|generated|notified)/i
const delay = /delay|warning|verzögert|retard|遅延/i

function isFromMailServer({ from, subject = '' }: Email, header: (name: string) => string | undefined): boolean {
  if (automaticReply.test(header('auto-submitted')?.trim() ?? '')) return false
  if (delay.test(subject)) return false
  return /^(mailer-daemon|mail-daemon|postmaster)@/i.test(from?.address ?? '')
}
