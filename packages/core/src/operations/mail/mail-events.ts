/** Bounces and spam complaints that mail providers report. */
import { recordEngagements } from '../../campaigns/engagement.ts'
import { recordBounces } from '../../campaigns/recipient-reports.ts'
import { type AddressedContact, type GivenSuppression, readRows } from '../../consent/consent-records.ts'
import { hashEmail } from '../../consent/hash-email.ts'
import { lockContactsByKeys } from '../../contacts/find-contact.ts'
import { touchLockedContacts } from '../../contacts/touch-last-activity.ts'
import { recordEmailBounces, recordEmailComplaints } from '../../emails/email-reports.ts'
import { pauseIfReported } from '../../emails/templates/pause-template.ts'
import { emitMany } from '../../events/emit.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'
import { emailKey } from '../../kernel/values/email-key.ts'
import { cleanDetail } from '../../mail/bounces/clean-text.ts'
import { hideValues } from '../../mail/bounces/hide-values.ts'
import type { Ctx } from '../../request/context.ts'
import { changedBeforeLock, inRounds } from '../../request/in-rounds.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { countSoftBounces } from './count-soft-bounces.ts'
import { findReportedMails, type Reported, type ReportedMail } from './find-reported-mails.ts'
import { addNewReports } from './known-reports.ts'
import { mailBounced, mailComplained } from './mail-events.schema.ts'
import type { MailReport } from './mail-report.ts'

/** Like `reportMailEvents`, for one report. */
export async function reportMailEvent(ctx: Ctx, report: MailReport): Promise<void> {
  await reportMailEvents(ctx, [report])
}

/**
 * Records reports in one transaction. A complaint or a HARD bounce suppresses the address and unsubscribes it from every
 * list of the workspace; so does an opt-out, and a SOFT bounce of an address that is undeliverable by now. A complaint and
 * an opt-out are what the person said: they also hold for the present address of the recipient. A report counts in the
 * statistics of its campaign. Reports come more than once, also from a server and a provider about the same email: they
 * count once. A repeated one still suppresses if it is a complaint and the address is not suppressed by one, or if the
 * server has refused just now. Reports that name no email count once a day, and SOFT bounces of these only once: they
 * could all be of the same email.
 */
export async function reportMailEvents(ctx: Ctx, reports: readonly MailReport[]): Promise<void> {
  await inRounds(ctx, async (ctx) => recordReports(ctx, await findReportedMails(ctx, reports)))
}

/**
 * Records reports about known emails, in a transaction of `inRounds`. The number of statements does not depend on that of
 * the reports: a message of a provider has thousands. Of a deleted contact, the suppression and the statistics are
 * recorded, and no event names it.
 */
export async function recordReports(ctx: Ctx, reported: readonly Reported[]): Promise<void> {
  const areNew = await addNewReports(ctx, reported)
  const [added, repeated] = [reported.filter((_, at) => areNew[at]), reported.filter((_, at) => !areNew[at])]
  const saying = [...added, ...(await listSaidAgain(ctx, repeated))]
  const findContact = await lockContactsOf(ctx, saying)
  const ofPeople = added.filter(({ mail }) => !mail.isErased)
  const addressed = ofPeople.map((one) => ({ ...one, contact: findContact(one.mail) }))
  const undeliverable = await countSoftBounces(ctx, addressed)
  const bounced = undeliverable.map((email) => ({ email, reason: 'BOUNCED' }) as const)
  const said = [...saying.flatMap(toSuppressions), ...bounced]
  await suppressAddresses(ctx, said)
  const suppressed = new Set(said.map(({ email }) => emailKey(email)))
  // One that is suppressed is updated already: each update of a contact writes all of its indexes.
  const active = addressed.flatMap(({ contact }) =>
    contact && !suppressed.has(emailKey(contact.email)) ? contact.id : [],
  )
  await touchLockedContacts(ctx, [...new Set(active)])
  // Also what is said again: a retry has cleared a refusal, and anything else is recorded once.
  await recordOnRecipients(ctx, saying)
  await recordOnEmails(ctx, saying)
  await emitReports(ctx, addressed)
}

interface AddressedReport extends Reported {
  contact: AddressedContact | undefined
}

/** An opt-out emits the events of the subscriptions that it ends. */
async function emitReports(ctx: Ctx, reported: readonly AddressedReport[]): Promise<void> {
  for (const [type, definition] of [
    ['BOUNCE', mailBounced],
    ['COMPLAINT', mailComplained],
  ] as const) {
    const data = reported.filter(({ report }) => report.type === type).flatMap(toEventData)
    if (data.length > 0) await emitMany(ctx, definition, data)
  }
}

/**
 * The data of `mail.bounced` and `mail.complained`. None if the address is not known. What is not of a campaign may be of an
 * email to one person.
 */
function toEventData({ report, mail: { address, recipient, emailId }, contact }: AddressedReport) {
  const email = address ?? (report.type === 'COMPLAINT' ? contact?.email : undefined)
  if (email === undefined) return []
  return {
    email,
    permanent: reasonOf(report) !== undefined,
    class: report.class,
    code: report.code,
    detail: cleanDetail(recipient ? report.detail : hideValues(report.detail)),
    messageId: report.messageId,
    contactId: contact?.id ?? null,
    campaignId: recipient?.campaignId ?? null,
    emailId: emailId ?? null,
    reportedAt: timestampNow(),
  }
}

type ReportedSuppression = Pick<GivenSuppression, 'email' | 'reason'>

/** Why a report suppresses the address. Undefined if it does not. */
function reasonOf({ type, class: kind }: MailReport): ReportedSuppression['reason'] | undefined {
  if (type === 'COMPLAINT') return 'COMPLAINED'
  if (type === 'OPT_OUT') return 'OPTED_OUT'
  return kind === 'HARD' ? 'BOUNCED' : undefined
}

/** What a report says about addresses: what the person said holds for the present address too. */
function toSuppressions({ report, mail: { address, contact } }: Reported): ReportedSuppression[] {
  const reason = reasonOf(report)
  const emails = [address, reason === 'BOUNCED' ? null : contact?.email].filter((email) => typeof email === 'string')
  return reason ? emails.map((email) => ({ email, reason })) : []
}

/**
 * The repeated reports that suppress again. A refusal happened just now, maybe after the bounce of the first one was
 * lifted. A complaint about a known email is said again only after the person has returned; any other moves the moment.
 */
async function listSaidAgain(ctx: Ctx, repeated: readonly Reported[]): Promise<Reported[]> {
  const complaints = repeated.filter(({ report }) => report.type === 'COMPLAINT')
  const emails = complaints.flatMap(({ mail }) => emailOfPerson(mail) ?? [])
  const rows = (await readRows(ctx, emails)).filter(({ hashed }) => hashed.reason === 'COMPLAINED')
  const complained = new Set(rows.map(({ hashed }) => hashed.emailHash))
  return repeated.filter(({ report, mail }) => {
    if (report.type !== 'COMPLAINT') return report.isRefusal
    const isNamed = mail.recipient ?? mail.emailId ?? mail.mailId ?? report.messageId ?? report.providerMessageId
    const email = emailOfPerson(mail)
    return !isNamed || !email || !complained.has(hashEmail(ctx, email))
  })
}

const emailOfPerson = ({ contact, address }: ReportedMail) => contact?.email ?? address

/**
 * Locks the contacts that reports change, all before any address, and returns a function that finds that of an email: the
 * contact with its address, or else the recipient. Usually they are the same. What the person said holds for the address
 * that the recipient has when it is locked, also if it moved or was merged meanwhile.
 */
async function lockContactsOf(
  ctx: Ctx,
  reported: readonly Reported[],
): Promise<(mail: ReportedMail) => AddressedContact | undefined> {
  const emails = reported.flatMap(({ mail }) => [mail.address, mail.contact?.email])
  const keys = new Set(emails.flatMap((email) => (typeof email === 'string' ? emailKey(email) : [])))
  const locked =
    keys.size === 0
      ? []
      : await lockContactsByKeys(
          ctx,
          [...keys].map((email) => ({ email })),
        )
  const byEmail = new Map(locked.map((contact) => [emailKey(contact.email), contact]))
  const isChanged = ({ mail: { contact } }: Reported) =>
    contact !== undefined && byEmail.get(emailKey(contact.email))?.id !== contact.id
  if (reported.some(isChanged)) throw changedBeforeLock
  return ({ address, contact }) => (address === null ? undefined : byEmail.get(emailKey(address))) ?? contact
}

async function suppressAddresses(ctx: Ctx, said: readonly ReportedSuppression[]): Promise<void> {
  const distinct = new Map(said.map((one) => [`${one.reason} ${emailKey(one.email)}`, one]))
  const added = [...distinct.values()].map((one) => ({ ...one, source: 'MAIL_EVENT' }) as const)
  if (added.length > 0) await suppress(ctx, added, { emitsEvents: true })
}

async function recordOnEmails(ctx: Ctx, reported: readonly Reported[]): Promise<void> {
  const bounces = reported.flatMap(({ report: { class: kind, code }, mail: { emailId } }) =>
    emailId && kind ? [{ id: emailId, bounce: { class: kind, code } }] : [],
  )
  const complaints = reported.flatMap(({ report, mail: { emailId } }) =>
    emailId && report.type === 'COMPLAINT' ? emailId : [],
  )
  const changed = [...(await recordEmailBounces(ctx, bounces)), ...(await recordEmailComplaints(ctx, complaints))]
  for (const templateId of [...new Set(changed)].toSorted()) await pauseIfReported(ctx, templateId)
}

async function recordOnRecipients(ctx: Ctx, reported: readonly Reported[]): Promise<void> {
  const known = reported
    .flatMap(({ report, mail: { recipient } }) => (recipient ? [{ report, recipient }] : []))
    // One order for all writers of recipients.
    .toSorted((one, other) => one.recipient.contactId.localeCompare(other.recipient.contactId))
  await recordBounces(
    ctx,
    known.flatMap(({ report: { class: kind, code }, recipient }) =>
      kind ? [{ recipient, bounce: { class: kind, code } }] : [],
    ),
  )
  for (const [engagement, isOf] of engagementsOf)
    await recordEngagements(
      ctx,
      known.filter(({ report }) => isOf(report)).map(({ recipient }) => recipient),
      engagement,
    )
}

const engagementsOf = [
  ['complained', ({ type }: MailReport) => type === 'COMPLAINT'],
  ['unsubscribed', ({ type }: MailReport) => type === 'OPT_OUT'],
  ['bounced', ({ class: kind }: MailReport) => kind === 'HARD'],
] as const
