/** Which emails of the workspace reports are about, by the token of the return path, or by ids. */
import { and, eq, type SQL } from 'drizzle-orm'
import { parseMessageId, type RecipientKey } from '../../campaigns/engagement.ts'
import {
  findCampaignsOfRecipients,
  findMailedAt,
  findRecipientsByProviderIds,
  recipientKey,
  tokenRecipientKey,
} from '../../campaigns/recipient-reports.ts'
import { mails } from '../../db/schema/index.ts'
import { isAnyOf } from '../../db/statements/is-any-of.ts'
import {
  findEmails,
  findEmailsByProviderIds,
  parseEmailMessageId,
  type ReportedEmail,
} from '../../emails/email-reports.ts'
import type { ContactId, EmailId, MailId } from '../../kernel/ids.ts'
import { openRecipientToken, type RecipientToken } from '../../mail/bounces/recipient-token.ts'
import { isRequestedMail, type Mail } from '../../mail/mails.ts'
import { hashProviderMessageId } from '../../mail/providers/provider-message-id.ts'
import type { Ctx } from '../../request/context.ts'
import type { MailReport } from './mail-report.ts'

/** The email of a report: to a recipient of a campaign, from a template, or a single one. */
export interface Subject {
  recipient?: RecipientKey | undefined
  emailId?: EmailId
  mailId?: MailId
  /** To whom a single email was sent. Undefined if it is deleted. */
  email?: string | undefined
  /** The id of the recipient when the email was sent. Null after its erasure, undefined of an email to a user. */
  contactId?: ContactId | null | undefined
  /** A token proves the recipient. An address that the report names counts only if the email was sent to it. */
  token?: RecipientToken
}

type Subjects = Map<MailReport, Subject>

/** The emails of reports with a valid token of the workspace. */
export async function findByTokens(ctx: Ctx, reports: readonly MailReport[]): Promise<Subjects> {
  const opened = reports.flatMap((report) => {
    const { recipientToken } = report
    const token = recipientToken === null ? undefined : openRecipientToken(ctx.settings.keys, recipientToken)
    return token?.isOfWorkspace(ctx.workspaceId) ? [{ report, token }] : []
  })
  const named = opened.map(({ token }) => token.subject)
  const campaigns = await findCampaignsOfRecipients(
    ctx,
    named.filter((one) => 'contactId' in one),
  )
  const emails = await findEmails(
    ctx,
    named.flatMap((one) => ('emailId' in one ? one.emailId : [])),
  )
  const single = await findMails(
    ctx,
    named.flatMap((one) => ('mailId' in one ? one.mailId : [])),
  )
  const toSubject = (of: RecipientToken['subject']): Subject => {
    if ('mailId' in of) return single.get(of.mailId) ?? of
    if ('emailId' in of) return { emailId: of.emailId, contactId: emails.get(of.emailId)?.contactId ?? null }
    const campaignId = campaigns.get(tokenRecipientKey(of))
    return { contactId: of.contactId, ...(campaignId && { recipient: { campaignId, contactId: of.contactId } }) }
  }
  return new Map(opened.map(({ report, token }) => [report, { ...toSubject(token.subject), token }]))
}

/**
 * The emails of reports without a token. Some providers replace the Message-ID, and some report only one of both ids.
 * That of the provider comes first: a remote server may have written the Message-ID.
 */
export async function findByIds(ctx: Ctx, reports: readonly MailReport[]): Promise<Subjects> {
  const withIds = reports.filter(({ recipientToken }) => recipientToken === null)
  const byProviderId = await findByProviderIds(ctx, withIds)
  const rest = withIds.filter((report) => !byProviderId.has(report))
  return new Map([...byProviderId, ...(await findByMessageIds(ctx, rest))])
}

async function findByProviderIds(ctx: Ctx, reports: readonly MailReport[]): Promise<Subjects> {
  const hashed = reports.flatMap((report) => {
    const { providerMessageId: id } = report
    return id === null ? [] : [{ report, hash: hashProviderMessageId(id) }]
  })
  const hashes = [...new Set(hashed.map(({ hash }) => hash))]
  const recipients = await findRecipientsByProviderIds(ctx, hashes)
  const emails = await findEmailsByProviderIds(ctx, hashes)
  const single = await findMailsByProviderIds(ctx, hashes)
  const toSubject = (hash: string) => ofRecipient(recipients.get(hash)) ?? ofEmail(emails.get(hash)) ?? single.get(hash)
  return withSubjects(hashed.map(({ report, hash }) => [report, toSubject(hash)]))
}

async function findByMessageIds(ctx: Ctx, reports: readonly MailReport[]): Promise<Subjects> {
  const named = reports.map(({ messageId }) => ({
    recipient: messageId === null ? undefined : parseMessageId(messageId),
    emailId: messageId === null ? undefined : parseEmailMessageId(messageId)?.id,
  }))
  const recipients = await findMailedAt(
    ctx,
    named.flatMap(({ recipient }) => recipient ?? []),
  )
  const emails = await findEmails(
    ctx,
    named.flatMap(({ emailId }) => emailId ?? []),
  )
  return withSubjects(
    reports.map((report, at) => {
      const { recipient, emailId } = named[at] ?? {}
      const isRecipient = recipient !== undefined && recipients.has(recipientKey(recipient))
      return [report, isRecipient ? ofRecipient(recipient) : ofEmail(emailId && emails.get(emailId))]
    }),
  )
}

const ofRecipient = (recipient: RecipientKey | undefined): Subject | undefined =>
  recipient && { recipient, contactId: recipient.contactId }

const ofEmail = (email: ReportedEmail | undefined): Subject | undefined =>
  email && { emailId: email.id, contactId: email.contactId }

const withSubjects = (found: readonly (readonly [MailReport, Subject | undefined])[]): Subjects =>
  new Map(found.flatMap(([report, subject]) => (subject ? [[report, subject] as const] : [])))

/** Single emails. */
export async function findMails(ctx: Ctx, ids: readonly MailId[]): Promise<Map<MailId, Subject>> {
  const found = ids.length === 0 ? [] : await selectMails(ctx, isAnyOf(mails.id, ids))
  return new Map(found.map((row) => [row.id, ofMail(row)]))
}

async function findMailsByProviderIds(ctx: Ctx, hashes: readonly string[]): Promise<Map<string | null, Subject>> {
  const found = hashes.length === 0 ? [] : await selectMails(ctx, isAnyOf(mails.providerMessageHash, hashes))
  return new Map(found.map((row) => [row.hash, ofMail(row)]))
}

/** A test email of a campaign names the contact that it shows, not its recipient. */
const ofMail = ({ id, kind, toAddress, data }: Pick<Mail, 'id' | 'kind' | 'toAddress' | 'data'>): Subject => ({
  mailId: id,
  email: toAddress,
  contactId: isRequestedMail(kind) ? data.contactId : undefined,
})

async function selectMails(ctx: Ctx, isOne: SQL) {
  const { id, kind, toAddress, data, providerMessageHash: hash } = mails
  return await ctx.db
    .select({ id, kind, toAddress, data, hash })
    .from(mails)
    .where(and(eq(mails.workspaceId, ctx.workspaceId), isOne))
}
