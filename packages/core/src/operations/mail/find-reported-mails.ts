import type { AddressedContact } from '../../consent/consent-records.ts'
import { findCurrentContacts } from '../../contacts/contact-aliases.ts'
import { findEmails } from '../../emails/email-reports.ts'
import type { RecipientKey } from '../../campaigns/engagement.ts'
import type { ContactId, EmailId, MailId } from '../../kernel/ids.ts'
import { isSameAddress } from '../../kernel/values/email-key.ts'
import type { Ctx } from '../../request/context.ts'
import { findConsentEmailsOf } from '../contacts/consent-emails.ts'
import { findByIds, findByTokens, findMails, type Subject } from './find-subjects.ts'
import type { MailReport } from './mail-report.ts'

/** The email that a report is about. */
export interface ReportedMail {
  /** The address that the email was sent to. Null if the report does not prove it. */
  address: string | null
  /** The recipient of a campaign. */
  recipient?: RecipientKey
  /** An email from a template. */
  emailId?: EmailId
  /** A single email. */
  mailId?: MailId
  /** The recipient, or the contact that it was merged into, with its present address. */
  contact?: AddressedContact
  /** The recipient was deleted since: no event is emitted, and nothing is recorded of the person but a suppression. */
  isErased: boolean
}

export interface Reported {
  report: MailReport
  mail: ReportedMail
}

/** Finds the emails that reports are about, in their order, without those that prove no email of this workspace. */
export async function findReportedMails(ctx: Ctx, reports: readonly MailReport[]): Promise<Reported[]> {
  const subjects = new Map([...(await findByTokens(ctx, reports)), ...(await findByIds(ctx, reports))])
  const people = await findCurrentContacts(
    ctx,
    [...subjects.values()].flatMap(({ contactId }) => contactId ?? []),
  )
  const found = reports.flatMap((report) => {
    const subject = subjects.get(report)
    const mail = subject ? toReportedMail(subject, people) : toUnknownMail(report)
    return mail ? [{ report, mail, token: subject?.token, sentTo: subject?.email }] : []
  })
  const resolved = found.map((one) => ({ ...one, address: findAddress(one, []) }))
  const unresolved = resolved.flatMap(({ address, mail }) => (address === null && mail.contact?.id) || [])
  const former = await findConsentEmailsOf(ctx, unresolved)
  return resolved.map(({ report, mail, address, ...of }) => {
    const formerEmails = (mail.contact && former.get(mail.contact.id)) ?? []
    return { report, mail: { ...mail, address: address ?? findAddress({ report, mail, ...of }, formerEmails) } }
  })
}

/** A report without an email of the workspace is about the address that it names. A token that is not valid names nothing. */
const toUnknownMail = ({ recipientToken, email }: MailReport): ReportedMail | undefined =>
  recipientToken === null && email !== null ? { address: email, isErased: false } : undefined

/** The address follows: see `findAddress`. */
function toReportedMail(
  { recipient, emailId, mailId, email, contactId }: Subject,
  people: ReadonlyMap<ContactId, AddressedContact>,
): ReportedMail {
  const subject = { ...(recipient && { recipient }), ...(emailId && { emailId }), ...(mailId && { mailId }) }
  const isToUser = mailId !== undefined && contactId === undefined
  return { address: null, ...subject, ...(isToUser ? { isErased: email === undefined } : toPerson(contactId, people)) }
}

function toPerson(
  contactId: ContactId | null | undefined,
  people: ReadonlyMap<ContactId, AddressedContact>,
): Pick<ReportedMail, 'contact' | 'isErased'> {
  const contact = contactId ? people.get(contactId) : undefined
  return contact ? { contact, isErased: false } : { isErased: true }
}

interface FoundReport extends Reported {
  token: Subject['token'] | undefined
  sentTo: string | undefined
}

/** The address that the email was sent to. A token proves it, also one that the report names. */
function findAddress({ report, mail, token, sentTo }: FoundReport, formerEmails: readonly string[]): string | null {
  if (token) {
    if (report.isOfOtherAddress) return null
    const named = [mail.contact?.email, sentTo, report.email].find((one) => one && token.isAddress(one))
    return named ?? formerEmails.find(token.isAddress) ?? null
  }
  if (mail.mailId) return sentTo ?? null
  if (mail.address !== null || report.isEmailProven) return mail.address ?? report.email
  return findOwnAddress(report, mail.contact, formerEmails)
}

/**
 * The address of a report if the email can have been sent to it. The addresses of a deleted contact are unknown: only what
 * the person said counts then, because it must not be lost.
 */
function findOwnAddress(
  { type, email }: MailReport,
  contact: ReportedMail['contact'],
  formerEmails: readonly string[],
): string | null {
  if (email === null || !contact) return type === 'BOUNCE' ? null : email
  const own = [contact.email, ...formerEmails]
  return own.some((one) => isSameAddress(one, email)) ? email : null
}

/** The email that a mail server has just refused. Its recipient may have been deleted since the worker claimed it. */
export async function findRefusedMail(ctx: Ctx, refused: RefusedMail): Promise<ReportedMail> {
  const subject = await findRefusedSubject(ctx, refused)
  return toReportedMail(subject, await findCurrentContacts(ctx, subject.contactId ? [subject.contactId] : []))
}

export type RefusedMail = { recipient: RecipientKey } | { emailId: EmailId } | { mailId: MailId }

async function findRefusedSubject(ctx: Ctx, refused: RefusedMail): Promise<Subject> {
  if ('recipient' in refused) return { ...refused, contactId: refused.recipient.contactId }
  if ('mailId' in refused) return (await findMails(ctx, [refused.mailId])).get(refused.mailId) ?? refused
  return { ...refused, contactId: (await findEmails(ctx, [refused.emailId])).get(refused.emailId)?.contactId ?? null }
}
