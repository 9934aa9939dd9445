import { classifyBounce } from '@rapport/core/mail/bounces/classify-bounce.ts'
import { isDelay, isAutomaticReply, saysUndelivered } from '@rapport/core/mail/bounces/report-words.ts'
import type { Email } from 'postal-mime'
import { findAddresses, maxAddresses } from './addresses.ts'
import { maxGroups } from './field-groups.ts'
import type { BounceReport, Group } from './parsed-report.ts'
import { findResponse } from './quoted-response.ts'

/**
 * A bounce that has no delivery status, such as that of qmail and of old Exim. Without the header of Exim, it must come
 * from a mail server and quote the response of one, or say that the email was not delivered.
 */
export function parseUnformatted(mail: Email, text: string): BounceReport | undefined {
  if (qmailIntroduction.test(text)) return parseQmail(text)
  const [explanation = ''] = text.split(returnedMail, 1)
  const failed = headerOf(mail, 'x-failed-recipients')
  const emails = failed?.split(/[\s,]+/, maxAddresses) ?? findAddresses(explanation)
  const response = findResponse(explanation)
  if (failed === undefined) {
    const words = `${mail.subject ?? ''}\n${explanation}`
    if (!isFromMailServer(mail) || isDelay(words) || isAutomaticReply(words)) return undefined
    // A temporary code alone may be of a delay, in any language.
    if (!isPermanent.test(response ?? '') && !saysUndelivered(words)) return undefined
  }
  const bounce = classifyBounce({ text: response ?? explanation })
  return {
    groups: [{ emails, hasFailed: true, bounce, detail: response ?? '' }],
    mustNameRecipient: failed === undefined && isReply(mail) && !returnsMail(mail),
  }
}

const isPermanent = /(?<![\d.])5(?:\d\d(?![\d.])|\.\d{1,3}\.\d)/

const headerOf = ({ headers }: Email, name: string) => headers.find(({ key }) => key === name)?.value

/** The line between the explanation and the email that is returned. */
const returnedMail =
  /^[ \t]*-{2,}.{0,80}(?:copy|original|header).{0,80}$|^original message.{0,40}:$|^(?:Return-Path|Received|Message-ID):/im

const returnsMail = ({ attachments, text = '' }: Email) =>
  attachments.some(({ mimeType }) => /^(?:message\/rfc822|text\/rfc822-headers)/i.test(mimeType)) ||
  returnedMail.test(text)

/** `auto-replied` is of a person, or of a server that returns the email with its report (RFC 3834). */
const isReply = (mail: Email) => /^auto-/i.test(headerOf(mail, 'auto-submitted')?.trim() ?? '')

const daemon = /^(?:mail-?er-?daemon|mail-daemon|mdaemon|postmaster)\b/i
const systemName = /mail(?:er)?[ -]?(?:delivery|daemon)|delivery (?:sub)?system|post-?master|mail system/i

/** A server writes as `MAILER-DAEMON`, also without a domain, with a name alone, or without any sender. */
function isFromMailServer({ from }: Email): boolean {
  const { address = '', name = '' } = from ?? {}
  if (daemon.test(address) || systemName.test(address.replace(/\./g, ' '))) return true
  return (
    !address.includes('@') &&
    (daemon.test(name) || daemon.test(name) || systemName.test(name) || `${address}${name}` === '')
  )
}

// Both are bounded, because `^` matches after more characters than \n: else the time would grow with the square.
const qmailIntroduction = /^Hi\. This is the .{0,200}(?:qmail|program at)/m
const qmailParagraph = /^<([^>\n]{0,320})>:[ ]*\n([\s\S]*?)(?:\n\n|(?![\s\S]))/gm

/** The bounce of qmail has a paragraph for each recipient, with a reason of one or more lines, and then the email. */
function parseQmail(text: string): BounceReport {
  const [report = ''] = text.split(/^--- Below this line is/m, 1)
  const paragraphs = [...report.matchAll(qmailParagraph)].slice(0, maxGroups)
  const groups = paragraphs.map(
    ([, email = '', reason = '']): Group => ({
      emails: [email],
      hasFailed: true,
      bounce: classifyBounce({ text: reason }),
      detail: reason,
    }),
  )
  const none = { emails: [], hasFailed: true, bounce: classifyBounce({}), detail: '' }
  return { groups: groups.length > 0 ? groups : [none] }
}
