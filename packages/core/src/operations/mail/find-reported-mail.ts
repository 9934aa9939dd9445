import { and, eq } from 'drizzle-orm'
import {
  findCampaignOfRecipient,
  findRecipientByProviderId,
  isCampaignRecipient,
  parseMessageId,
  type RecipientKey,
} from '../../campaigns/engagement.ts'
import {
  findEmail,
  findEmailByProviderId,
  parseEmailMessageId,
  type ReportedEmail,
} from '../../emails/email-reports.ts'
import { findCurrentContact } from '../../contacts/contact-aliases.ts'
import { mails } from '../../db/schema/index.ts'
import type { ContactId, EmailId, MailId } from '../../kernel/ids.ts'
import { hashProviderMessageId } from '../../mail/providers/provider-message-id.ts'
import { openRecipientToken, type RecipientToken } from '../../mail/bounces/recipient-token.ts'
import { byId } from '../../request/by-id.ts'
import type { Ctx } from '../../request/context.ts'
import { findConsentEmails } from '../contacts/consent-emails.ts'
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
  contact?: { id: ContactId; email: string }
  /** The recipient was deleted since: nothing but the suppression of the address is recorded. */
  isErased: boolean
}

/** Returns undefined if the report proves no email of this workspace. */
export async function findReportedMail(ctx: Ctx, report: MailReport): Promise<ReportedMail | undefined> {
  const { recipientToken, email } = report
  if (recipientToken !== null) {
    const token = openRecipientToken(ctx.settings.keys, recipientToken)
    return token?.isOfWorkspace(ctx.workspaceId) ? findByToken(ctx, token, report) : undefined
  }
  const { recipient, templateEmail, mail } = await findByIds(ctx, report)
  if (recipient || templateEmail) {
    const person = await findPerson(ctx, recipient?.contactId ?? templateEmail?.contactId ?? null)
    const address = report.isEmailProven ? email : await findOwnAddress(ctx, report, person.contact)
    return { address, ...(recipient && { recipient }), ...(templateEmail && { emailId: templateEmail.id }), ...person }
  }
  const address = mail?.email ?? email
  return address === null ? undefined : { address, isErased: false, ...(mail && { mailId: mail.id }) }
}

/**
 * The address of a report if the email can have been sent to it. The addresses of a deleted contact are unknown: only what
 * the person said counts then, because it must not be lost.
 */
async function findOwnAddress(
  ctx: Ctx,
  { type, email }: MailReport,
  contact: ReportedMail['contact'],
): Promise<string | null> {
  if (email === null || !contact) return type === 'BOUNCE' ? null : email
  const own = [contact.email, ...(await findConsentEmails(ctx, contact.id))]
  return own.some((one) => one.toLowerCase() === email.toLowerCase()) ? email : null
}

interface FoundByIds {
  recipient?: RecipientKey | undefined
  templateEmail?: ReportedEmail | undefined
  mail?: { id: MailId; email: string } | undefined
}

/**
 * Some providers replace the Message-ID, and some report only one of both ids. That of the provider comes first: a remote
 * server may have written the Message-ID.
 */
async function findByIds(ctx: Ctx, { messageId, providerMessageId: id }: MailReport): Promise<FoundByIds> {
  const recipient = id === null ? undefined : await findRecipientByProviderId(ctx, id)
  if (recipient) return { recipient }
  const templateEmail = id === null ? undefined : await findEmailByProviderId(ctx, id)
  if (templateEmail) return { templateEmail }
  const mail = id === null ? undefined : await findMailByProviderId(ctx, id)
  if (mail || messageId === null) return { mail }
  const named = parseMessageId(messageId)
  if (named && (await isCampaignRecipient(ctx, named))) return { recipient: named }
  const emailId = parseEmailMessageId(messageId)
  return { templateEmail: emailId && (await findEmail(ctx, emailId)) }
}

/** Finds a single email. */
async function findMailByProviderId(ctx: Ctx, id: string) {
  const [mail] = await ctx.db
    .select({ id: mails.id, email: mails.toAddress })
    .from(mails)
    .where(and(eq(mails.workspaceId, ctx.workspaceId), eq(mails.providerMessageHash, hashProviderMessageId(id))))
  return mail
}

/** A token proves the recipient. An address that the report names counts only if the email was sent to it. */
async function findByToken(ctx: Ctx, token: RecipientToken, report: MailReport): Promise<ReportedMail> {
  const mail = await findMailOfToken(ctx, token, report.email)
  return report.isOfOtherAddress ? { ...mail, address: null } : mail
}

async function findMailOfToken(ctx: Ctx, token: RecipientToken, email: string | null): Promise<ReportedMail> {
  const { subject } = token
  if ('mailId' in subject) {
    const mail = await findMail(ctx, subject.mailId)
    const address = [mail?.email, email].find((one) => one && token.isAddress(one)) ?? null
    return { address, mailId: subject.mailId, isErased: mail === undefined }
  }
  const { contactId, ...of } = await findSubject(ctx, subject)
  const person = await findPerson(ctx, contactId)
  const named = [person.contact?.email, email].find((one) => one && token.isAddress(one))
  const former = named || !person.contact ? [] : await findConsentEmails(ctx, person.contact.id)
  return {
    address: named ?? former.find(token.isAddress) ?? null,
    ...of,
    ...person,
  }
}

/** The contact of an email may have been merged since; it is null after its erasure. */
async function findSubject(
  ctx: Ctx,
  subject: Exclude<RecipientToken['subject'], { mailId: MailId }>,
): Promise<Pick<ReportedMail, 'recipient' | 'emailId'> & { contactId: ContactId | null }> {
  if ('emailId' in subject) {
    const { emailId } = subject
    return { emailId, contactId: (await findEmail(ctx, emailId))?.contactId ?? null }
  }
  const { contactId } = subject
  const campaignId = await findCampaignOfRecipient(ctx, subject)
  return { ...(campaignId && { recipient: { campaignId, contactId } }), contactId }
}

/** The email that a mail server has just refused. Its recipient may have been deleted since the worker claimed it. */
export async function findRefusedMail(
  ctx: Ctx,
  refused: { recipient: RecipientKey } | { emailId: EmailId } | { mailId: MailId },
): Promise<Omit<ReportedMail, 'address'>> {
  if ('emailId' in refused)
    return { ...refused, ...(await findPerson(ctx, (await findEmail(ctx, refused.emailId))?.contactId ?? null)) }
  if ('mailId' in refused) return { ...refused, isErased: (await findMail(ctx, refused.mailId)) === undefined }
  return { ...refused, ...(await findPerson(ctx, refused.recipient.contactId)) }
}

async function findMail(ctx: Ctx, id: MailId) {
  const [mail] = await ctx.db
    .select({ email: mails.toAddress })
    .from(mails)
    .where(byId(mails, ctx, id))
  return mail
}

async function findPerson(ctx: Ctx, contactId: ContactId | null): Promise<Pick<ReportedMail, 'contact' | 'isErased'>> {
  const contact = contactId === null ? undefined : await findCurrentContact(ctx, contactId)
  return contact ? { contact, isErased: false } : { isErased: true }
}
