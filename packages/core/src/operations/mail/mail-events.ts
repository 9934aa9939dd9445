/** Bounces and spam complaints that mail providers report. */
import {
  findMailedAt,
  listMailedAt,
  recordBounce,
  recordEngagement,
  type RecipientKey,
} from '../../campaigns/engagement.ts'
import { findEmailedAt, listEmailedAt, recordEmailReport } from '../../emails/email-reports.ts'
import { pauseIfReported } from '../../emails/templates/pause-template.ts'
import { findCurrentContact } from '../../contacts/contact-aliases.ts'
import { findContactByEmail, lockContactsByKeys } from '../../contacts/find-contact.ts'
import { touchLastActivity } from '../../contacts/touch-last-activity.ts'
import type { Ctx } from '../../request/context.ts'
import { changedBeforeLock, inRounds } from '../../request/in-rounds.ts'
import { emit } from '../../events/emit.ts'
import type { CampaignId, ContactId, EmailId } from '../../kernel/ids.ts'
import { type Timestamp, timestampNow } from '../../kernel/validation.ts'
import { readSuppressions } from '../../consent/consent-records.ts'
import { isUndeliverable, minBounces, recordSoftBounce } from '../../suppressions/soft-bounces.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { cleanDetail } from '../../mail/bounces/clean-text.ts'
import { findReportedMail, type ReportedMail } from './find-reported-mail.ts'
import { mailBounced, mailComplained } from './mail-events.schema.ts'
import { addNewReports } from './known-reports.ts'
import type { MailReport } from './mail-report.ts'

/**
 * Records a report. A complaint or a HARD bounce suppresses the address and unsubscribes it from every list of the
 * workspace; so does an opt-out, and a SOFT bounce of an address that is undeliverable by now. A complaint and an opt-out are what
 * the person said: they also hold for the present address of the recipient. The report counts in the statistics of its campaign. Reports come more
 * than once, also from a server and a provider about the same email: a repeated report is a no-op. Reports that name no
 * email count once a day, and SOFT bounces of these only once: they could all be of the same email.
 */
export function reportMailEvent(ctx: Ctx, report: MailReport): Promise<void> {
  return inRounds(ctx, async (ctx) => {
    const mail = await findReportedMail(ctx, report)
    if (mail) await recordReport(ctx, report, mail)
  })
}

/**
 * Records a report about a known email, in a transaction of `inRounds`. Of a deleted contact, only the suppression is
 * recorded.
 */
export async function recordReport(ctx: Ctx, report: MailReport, mail: ReportedMail): Promise<void> {
  const [isNew] = await addNewReports(ctx, [{ report, mail }])
  const isComplaint = report.type === 'COMPLAINT'
  const reason = reasonOf(report)
  // A refusal happened just now, maybe after the bounce of the first one was lifted.
  const isToSay = isNew || report.isRefusal || (await isSaidAgain(ctx, report, mail))
  if (reason && isToSay) await suppressRecipient(ctx, mail, reason)
  if (mail.isErased || !isNew) return
  const contact = await findContact(ctx, mail)
  if (contact && !(await touchLastActivity(ctx, contact.id))) throw changedBeforeLock
  if (report.class === 'SOFT' && contact) await countSoftBounce(ctx, mail, contact)
  if (mail.recipient) await recordOnRecipient(ctx, report, mail.recipient)
  if (mail.emailId) await recordOnEmail(ctx, report, mail.emailId)
  // An opt-out emits the events of the subscriptions that it ends.
  if (report.type === 'OPT_OUT') return
  const email = mail.address ?? (isComplaint ? contact?.email : undefined)
  if (email === undefined) return
  const { recipient, emailId } = mail
  await emit(
    ctx,
    isComplaint ? mailComplained : mailBounced,
    toEventData(report, { email, contactId: contact?.id, campaignId: recipient?.campaignId, emailId }),
  )
}

/** The data of `mail.bounced` and `mail.complained`. */
export const toEventData = (
  report: MailReport,
  {
    email,
    contactId,
    campaignId,
    emailId,
  }: {
    email: string
    contactId?: ContactId | undefined
    campaignId?: CampaignId | undefined
    emailId?: EmailId | undefined
  },
) => ({
  email,
  permanent: reasonOf(report) !== undefined,
  class: report.class,
  code: report.code,
  detail: cleanDetail(report.detail),
  messageId: report.messageId,
  contactId: contactId ?? null,
  campaignId: campaignId ?? null,
  emailId: emailId ?? null,
  reportedAt: timestampNow(),
})

type ReportedReason = 'BOUNCED' | 'COMPLAINED' | 'OPTED_OUT'

/** Why a report suppresses the address. Undefined if it does not. */
export function reasonOf({ type, class: kind }: MailReport): ReportedReason | undefined {
  if (type === 'COMPLAINT') return 'COMPLAINED'
  if (type === 'OPT_OUT') return 'OPTED_OUT'
  return kind === 'HARD' ? 'BOUNCED' : undefined
}

/** A complaint about a known email is said again only after the person has returned; any other moves the moment. */
async function isSaidAgain(
  ctx: Ctx,
  report: MailReport,
  { recipient, emailId, mailId, address, contact }: ReportedMail,
) {
  if (report.type !== 'COMPLAINT') return false
  const isNamed = recipient ?? emailId ?? mailId ?? report.messageId ?? report.providerMessageId
  const email = contact?.email ?? address
  if (!isNamed || !email) return true
  return !(await readSuppressions(ctx, { email })).some(({ reason }) => reason === 'COMPLAINED')
}

/** The contact with the address, or else the recipient. Usually they are the same, and known. */
async function findContact(ctx: Ctx, { address, contact }: ReportedMail): Promise<ReportedMail['contact']> {
  if (address === null || isSameAddress(address, contact?.email)) return contact
  return (await findContactByEmail(ctx, address)) ?? contact
}

const isSameAddress = (one: string, other: string | undefined) => one.toLowerCase() === other?.toLowerCase()

/**
 * What the person said holds for the address that the recipient has when it is locked, also if it moved or was merged
 * meanwhile.
 */
async function suppressRecipient(ctx: Ctx, { address, contact }: ReportedMail, reason: ReportedReason) {
  const emails = [address, reason === 'BOUNCED' ? null : contact?.email].filter((email) => typeof email === 'string')
  const added = emails.map((email) => ({ email, reason, source: 'MAIL_EVENT' }) as const)
  // All contacts before any address: `recordReport` changes the recipient, which may have another one now.
  if (address && contact && reason === 'BOUNCED' && !isSameAddress(address, contact.email))
    await lockContactsByKeys(ctx, [{ email: address }, { email: contact.email }])
  if (added.length > 0) await suppress(ctx, added, { emitsEvents: true })
  if (reason === 'BOUNCED' || !contact) return
  const present = await findCurrentContact(ctx, contact.id)
  if (present?.email !== contact.email) throw changedBeforeLock
}

/** Suppresses the address if it is undeliverable by now. A bounce of a former address does not concern the contact. */
async function countSoftBounce(ctx: Ctx, mail: ReportedMail, contact: { id: ContactId; email: string }) {
  if (mail.address === null || !isSameAddress(mail.address, contact.email)) return
  const mailedAt = await findMomentOf(ctx, mail)
  const bounced = await recordSoftBounce(ctx, { email: contact.email, mailedAt })
  if (bounced.length < minBounces) return
  const mailed = [...(await listMailedAt(ctx, contact.id)), ...(await listEmailedAt(ctx, contact.id))]
  if (isUndeliverable(bounced, mailed)) await suppressRecipient(ctx, mail, 'BOUNCED')
}

async function findMomentOf(ctx: Ctx, { recipient, emailId }: ReportedMail): Promise<Timestamp> {
  if (recipient) return (await findMailedAt(ctx, recipient)) ?? timestampNow()
  return (emailId && (await findEmailedAt(ctx, emailId))) ?? timestampNow()
}

async function recordOnEmail(ctx: Ctx, report: MailReport, id: EmailId): Promise<void> {
  const { type, class: kind, code } = report
  const recorded = type === 'COMPLAINT' ? 'COMPLAINT' : kind && { class: kind, code }
  const templateId = recorded && (await recordEmailReport(ctx, id, recorded))
  if (templateId) await pauseIfReported(ctx, templateId)
}

async function recordOnRecipient(ctx: Ctx, report: MailReport, recipient: RecipientKey): Promise<void> {
  if (report.class !== null) await recordBounce(ctx, recipient, { class: report.class, code: report.code })
  if (report.type === 'COMPLAINT') await recordEngagement(ctx, recipient, 'complained')
  else if (report.type === 'OPT_OUT') await recordEngagement(ctx, recipient, 'unsubscribed')
  else if (report.class === 'HARD' && !report.isRefusal) await recordEngagement(ctx, recipient, 'bounced')
}
