/** Complaints of feedback loops: ARF (RFC 5965), and the form of Microsoft's Junk Mail Reporting Program. */
import { isComplaint } from '@rapport/core/mail/bounces/feedback-type.ts'
import { tokenPattern } from '@rapport/core/mail/bounces/recipient-token.ts'
import type { Email } from 'postal-mime'
import { addressesOf } from './addresses.ts'
import { parseFieldGroups } from './field-groups.ts'
import { findParts } from './parse-mail.ts'
import type { ParsedReport } from './parsed-report.ts'

/** Null: the mail is no report of a feedback loop. Undefined: it is one, but no complaint. */
export function readFeedback(mail: Email): ParsedReport | null | undefined {
  const feedback = findParts(mail, /^message\/feedback-report$/)
  if (feedback !== undefined) return parseFields(feedback)
  const returned = findParts(mail, /^message\/rfc822$/)
  return returned !== undefined && isOfMicrosoft(mail) ? parseMicrosoft(returned) : null
}

function parseFields(text: string): ParsedReport | undefined {
  const [fields = new Map<string, string>()] = parseFieldGroups(text)
  const type = fields.get('feedback-type')?.toLowerCase() ?? 'abuse'
  if (!isComplaint(type)) return undefined
  const emails = addressesOf(fields, ['original-rcpt-to', 'removal-recipient'])
  return { type: 'COMPLAINT', emails, detail: type }
}

/** It returns the email alone, with the recipient in a header. */
const isOfMicrosoft = ({ from, subject = '' }: Email) =>
  /^staff@(?:hotmail|outlook)\.com$/i.test(from?.address ?? '') || /^\s*complaint about message from\b/i.test(subject)

function parseMicrosoft(returned: string): ParsedReport {
  const [headers = new Map<string, string>()] = parseFieldGroups(returned)
  return { type: 'COMPLAINT', emails: addressesOf(headers, ['x-hmxmroriginalrecipient']), detail: 'abuse' }
}

const maxTokens = 20
const returnPath = new RegExp(`\\bb(?:\\+|=2b|%2b)(${tokenPattern})(?![0-9a-v])`, 'gi')

/** The tokens of return paths anywhere in a mail, also in the email that it returns. They may be forged. */
export function findReportedTokens(mail: Email, raw: Uint8Array): string[] {
  const parts = mail.attachments.map(({ content }) => (typeof content === 'string' ? content : ''))
  const text = [Buffer.from(raw).toString('latin1'), mail.text ?? '', ...parts].join('\n').replace(/=\r?\n/g, '')
  const found = text.matchAll(returnPath)
  return [...new Set([...found].slice(0, maxTokens).map(([, token = '']) => token.toLowerCase()))]
}
