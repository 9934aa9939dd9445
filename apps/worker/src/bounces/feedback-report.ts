import { isComplaint } from '@rapport/core/mail/bounces/feedback-type.ts'
import { addressesOf } from './addresses.ts'
import { parseFieldGroups } from './field-groups.ts'
import type { ParsedReport } from './parsed-report.ts'

/** Parses the part of a complaint (ARF, RFC 5965) for machines. */
export function parseComplaint(text: string): ParsedReport | undefined {
  const [fields = new Map<string, string>()] = parseFieldGroups(text)
  const type = fields.get('feedback-type')?.toLowerCase() ?? 'abuse'
  if (!isComplaint(type)) return undefined
  const emails = addressesOf(fields, ['original-rcpt-to', 'removal-recipient'])
  return { type: 'COMPLAINT', emails, detail: type }
}
