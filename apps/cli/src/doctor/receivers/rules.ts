/** What Gmail, Yahoo and Microsoft require of bulk mail, as far as the mail and DNS show it. */
import { checkRecords } from '@rapport/core/domains/check-records.ts'
import type { DnsReader } from '@rapport/core/domains/dns.ts'
import { isAligned } from '@rapport/core/domains/domain-name.ts'
import { truncateText } from '@rapport/core/kernel/errors.ts'
import { mailDomain } from '@rapport/core/mail/outgoing-mail.ts'
import type { BulkMail } from '@rapport/core/operations/mail/read-bulk-mail.ts'
import { formatCount } from '../../terminal.ts'

export const receivers = ['gmail', 'yahoo', 'microsoft'] as const
export type Receiver = (typeof receivers)[number]

/** The page on which a receiver publishes its rules. */
export const sources: Readonly<Record<Receiver, string>> = {
  gmail: 'https://support.google.com/a/answer/81126',
  yahoo: 'https://senders.yahooinc.com/best-practices/',
  microsoft:
    'https://techcommunity.microsoft.com/blog/microsoftdefenderforoffice365blog/strengthening-email-ecosystem-outlook%E2%80%99s-new-requirements-for-high%E2%80%90volume-senders/4399730',
}

export interface Judged {
  mail: BulkMail
  dns: DnsReader
  /** The domain and the record of the installation's own DKIM key, DKIM_DOMAIN. */
  installationKey: { domain: string } | undefined
}

export interface Verdict {
  level: 'ok' | 'warn' | 'fail'
  message: string
  advice?: string
}

export interface Rule {
  about: string
  receivers: readonly Receiver[]
  judge(judged: Judged): Verdict | Promise<Verdict>
}

const ok = (message: string): Verdict => ({ level: 'ok', message })
const warn = (message: string, advice: string): Verdict => ({ level: 'warn', message, advice })
const fail = (message: string, advice: string): Verdict => ({ level: 'fail', message, advice })

const domainOf = ({ mail }: Judged) => mailDomain(mail.from).toLowerCase()

export const rules: readonly Rule[] = [
  { about: 'From', receivers, judge: judgeFrom },
  { about: 'SPF', receivers, judge: judgeSpf },
  { about: 'DKIM', receivers, judge: judgeDkim },
  { about: 'DMARC', receivers, judge: judgeDmarc },
  { about: 'Alignment', receivers, judge: judgeAlignment },
  { about: 'One-click unsubscribe', receivers, judge: judgeUnsubscribe },
  { about: 'Complaints', receivers, judge: judgeComplaints },
  { about: 'Feedback-ID', receivers: ['gmail'], judge: judgeFeedbackId },
  { about: 'Links', receivers, judge: judgeLinks },
  { about: 'Size', receivers: ['gmail'], judge: judgeSize },
]

const freeMail = /^((gmail|googlemail|outlook|hotmail|live|msn|aol|ymail)\.com|yahoo\.[a-z.]+|hotmail\.[a-z.]+)$/

function judgeFrom(judged: Judged): Verdict {
  const domain = domainOf(judged)
  if (!freeMail.test(domain)) return ok(judged.mail.from)
  return fail(
    `${judged.mail.from} is an address of a mailbox provider, whose DMARC policy forbids other senders`,
    'Send from a domain of your own.',
  )
}

async function judgeSpf({ mail: { returnPath }, dns }: Judged): Promise<Verdict> {
  const records = (await dns.readTexts(returnPath)).filter((text) => /^v=spf1( |$)/i.test(text))
  if (records.length === 1) return ok(`${returnPath}: ${records[0]}`)
  if (records.length > 1)
    return fail(
      `${returnPath}, the domain of the envelope sender, has ${records.length} records`,
      'Merge them into one.',
    )
  return fail(
    `${returnPath}, the domain of the envelope sender, has no record`,
    'Publish the TXT record that your mail server or provider documents.',
  )
}

async function judgeDkim(judged: Judged): Promise<Verdict> {
  const { mail, dns, installationKey } = judged
  const domain = domainOf(judged)
  if (mail.dkimRecord) {
    const [result] = await checkRecords(dns, domain, [mail.dkimRecord])
    if (result?.status === 'VERIFIED' && mail.isSigned)
      return ok(`signed by ${domain}, with the key at ${mail.dkimRecord.name}`)
    if (result?.status === 'VERIFIED')
      return warn(`the key of ${domain} is published, but the domain is not verified yet`, 'POST /domains/{id}/verify.')
    const problem = result?.problem ?? 'The key is not published'
    return (result?.status === 'UNKNOWN' ? warn : fail)(problem, `Publish the records of the domain ${domain}.`)
  }
  if (installationKey) return ok(`signed by ${installationKey.domain} (DKIM_DOMAIN)`)
  return warn(
    `Rapport does not sign for ${domain}, and whether your mail server signs is not judged`,
    `Add the domain with POST /domains, or let the mail server sign as ${domain}.`,
  )
}

async function judgeDmarc(judged: Judged): Promise<Verdict> {
  const domain = domainOf(judged)
  const record = { purpose: 'DMARC', type: 'TXT', name: `_dmarc.${domain}`, value: 'v=DMARC1; p=none' } as const
  const [result] = await checkRecords(judged.dns, domain, [record])
  if (result?.status === 'VERIFIED') return ok(`${domain} has a DMARC record`)
  const problem = result?.problem ?? `${domain} has no DMARC record`
  return (result?.status === 'UNKNOWN' ? warn : fail)(problem, `Publish "${record.value}" at ${record.name} at least.`)
}

/** DMARC passes if one of the two domains is aligned with that of From. */
function judgeAlignment(judged: Judged): Verdict {
  const { mail, installationKey } = judged
  const domain = domainOf(judged)
  const signer = mail.isSigned ? domain : installationKey?.domain
  if (signer !== undefined && isAligned(signer, domain))
    return ok(`the signature of ${signer} is aligned with ${domain}`)
  if (isAligned(mail.returnPath, domain))
    return ok(`the envelope sender at ${mail.returnPath} is aligned with ${domain}`)
  return fail(
    `neither the signature (${signer ?? 'none'}) nor the envelope sender (${mail.returnPath}) is of ${domain}`,
    `Add the domain ${domain} with POST /domains and publish its records.`,
  )
}

function judgeUnsubscribe({ mail: { headers, isSigned }, installationKey }: Judged): Verdict {
  const { 'List-Unsubscribe': link = '', 'List-Unsubscribe-Post': post = '' } = headers
  if (!/<https:\/\/[^>]+>/.test(link))
    return fail(
      `List-Unsubscribe has no https link: ${truncateText(link, 60) || 'none'}`,
      'Set PUBLIC_URL to an https URL.',
    )
  if (post !== 'List-Unsubscribe=One-Click')
    return fail('List-Unsubscribe-Post is missing', 'Do not remove the header in the mail server.')
  if (isSigned || installationKey) return ok('both headers are there, and the signature covers them')
  return warn(
    'both headers are there, but whether the signature of your mail server covers them is not judged',
    'RFC 8058 requires that it does. Rapport covers both if it signs.',
  )
}

function judgeComplaints({ mail: { sent, complained } }: Judged): Verdict {
  if (sent === 0) return ok('none: nothing of this campaign was sent yet')
  const percent = (complained / sent) * 100
  const message = `${complained} of ${sent} emails (${percent.toFixed(2)} %)`
  if (percent >= 0.3)
    return fail(message, 'The limit is 0.3 %. Send only to those who asked for it, and stop this campaign.')
  if (percent >= 0.1) return warn(message, 'Keep the rate below 0.1 %.')
  return ok(message)
}

function judgeFeedbackId({ mail: { headers } }: Judged): Verdict {
  const id = headers['Feedback-ID']
  return id === undefined
    ? warn('there is none', 'Google Postmaster Tools then shows no complaints by campaign.')
    : ok(id)
}

function judgeLinks({ mail: { html, text } }: Judged): Verdict {
  const links = new Set(`${html} ${text}`.match(/\bhttp:\/\/[^\s"'<>)]+/gi) ?? [])
  if (links.size === 0) return ok('all links use https')
  const [first = ''] = links
  return warn(`${formatCount(links.size, 'link')} without TLS, such as ${first.slice(0, 100)}`, 'Link to https URLs.')
}

/** Gmail shows the rest of a longer mail, and the footer with it, only on a further click. */
const gmailClipBytes = 102 * 1024

function judgeSize({ mail: { html } }: Judged): Verdict {
  const kib = Math.round(Buffer.byteLength(html) / 1024)
  if (Buffer.byteLength(html) <= gmailClipBytes) return ok(`${kib} KiB of HTML`)
  return warn(`${kib} KiB of HTML: Gmail clips a mail after 102 KiB, with the unsubscribe link`, 'Shorten the mail.')
}
