import { classifyBounce } from '@rapport/core/mail/bounces/classify-bounce.ts'
import { isBareCode } from '@rapport/core/mail/bounces/bounce-codes.ts'
import { addressesOf } from './addresses.ts'
import { type Fields, parseFieldGroups } from './field-groups.ts'
import type { BounceReport, Group, IsRecipient, ParsedReport } from './parsed-report.ts'
import { findResponse } from './quoted-response.ts'

/**
 * Parses the fields of a report (RFC 3464), which has a group for each recipient after those of the message. `text` is the
 * explanation for people. Undefined: it has no fields of a recipient.
 */
export function parseDeliveryStatus(status: string, text: string): BounceReport | undefined {
  const ofRecipients = parseFieldGroups(status).filter((fields) => recipientFields.some((name) => fields.has(name)))
  if (ofRecipients.length === 0) return undefined
  const explanation = ofRecipients.length === 1 ? text : ''
  const groups = ofRecipients.map((fields) => toGroup(fields, explanation))
  const expanded = groups.flatMap(({ emails }) => emails).filter((email) => isExpanded(text, email))
  return { groups, expanded }
}

/** What a report says to a recipient. Undefined if the mail did not fail. */
export function selectReport(report: BounceReport, isRecipient: IsRecipient): ParsedReport | undefined {
  const { groups, expanded = [], mustNameRecipient = false } = report
  if (mustNameRecipient && !groups.some(({ emails }) => emails.some(isRecipient))) return undefined
  const group = selectGroup(groups, isRecipient)
  if (!group) return undefined
  const members = group.emails.filter((email) => !expanded.includes(email))
  const emails = members.length > 0 ? members : group.emails
  return { type: 'BOUNCE', emails, bounce: group.bounce, detail: group.detail }
}

const recipientFields = ['final-recipient', 'original-recipient', 'action', 'status']

function toGroup(fields: Fields, explanation: string): Group {
  const status = fields.get('status') ?? ''
  const diagnostic = (fields.get('diagnostic-code') ?? '').replace(/^[^;\s]{0,40}\s*;\s*/, '')
  const response = hasCode.test(diagnostic) ? diagnostic : (findResponse(explanation) ?? diagnostic)
  return {
    emails: addressesOf(fields, ['original-recipient', 'final-recipient', 'x-original-to']),
    hasFailed: hasFailed(fields.get('action') ?? '', status || diagnostic),
    bounce: classifyBounce({ enhancedCode: status, text: response || (isBareCode(status) ? explanation : '') }),
    detail: response || status,
  }
}

const hasCode = /(?<![\d.])[45](?:\d\d(?![\d.])|\.\d{1,3}\.\d)/

/** A report may name no action, or one of its own. Then its code decides: a temporary one may be a delay. */
function hasFailed(action: string, code: string): boolean {
  if (/^(failed|failure|expired)\b/i.test(action)) return true
  return !/^(delayed|deferred|delivered|relayed|expanded)\b/i.test(action) && /^[\s#"]*5(?:\.\d|\d\d\b)/.test(code)
}

/**
 * The group of the recipient. A mail to an address that forwards to several others has a group for each: it bounced only
 * if it reached none of them, and the mildest class counts.
 */
function selectGroup(groups: readonly Group[], isRecipient: IsRecipient): Group | undefined {
  const own = groups.filter(({ emails }) => emails.some(isRecipient))
  const concerned = own.length > 0 ? own : groups
  if (!concerned.every(({ hasFailed }) => hasFailed)) return undefined
  return concerned.find(({ bounce }) => bounce.class !== 'HARD') ?? concerned[0]
}

/** Postfix reports a member of a list as `<member@example.org> (expanded from <list@example.org>)`: the list exists. */
const isExpanded = (text: string, email: string) =>
  text.toLowerCase().replace(/\s+/g, ' ').includes(`(expanded from <${email.toLowerCase()}>)`)
