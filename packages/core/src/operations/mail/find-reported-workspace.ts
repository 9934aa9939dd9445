import { and, between, eq, inArray } from 'drizzle-orm'
import { parseMessageId } from '../../campaigns/engagement.ts'
import { campaignRecipients, campaigns, mails, workspaces } from '../../db/schema/index.ts'
import type { WorkspaceId } from '../../kernel/ids.ts'
import { hashProviderMessageId } from '../../mail/providers/provider-message-id.ts'
import { openRecipientToken } from '../../mail/bounces/recipient-token.ts'
import type { BaseCtx } from '../../request/context.ts'
import type { MailReport } from './mail-report.ts'

/**
 * Finds the workspace of the email that a report names, for a report that can be of any workspace. An address alone
 * names no workspace. Undefined if the email is unknown.
 */
export async function findReportedWorkspace(base: BaseCtx, report: MailReport): Promise<WorkspaceId | undefined> {
  if (report.recipientToken !== null) return findByToken(base, report.recipientToken)
  return (await findByProviderId(base, report.providerMessageId)) ?? (await findByMessageId(base, report.messageId))
}

async function findByMessageId({ db }: BaseCtx, messageId: string | null): Promise<WorkspaceId | undefined> {
  const recipient = messageId === null ? undefined : parseMessageId(messageId)
  if (!recipient) return undefined
  const [campaign] = await db
    .select({ workspaceId: campaigns.workspaceId })
    .from(campaigns)
    .where(eq(campaigns.id, recipient.campaignId))
  return campaign?.workspaceId
}

async function findByProviderId({ db }: BaseCtx, id: string | null): Promise<WorkspaceId | undefined> {
  if (id === null) return undefined
  for (const table of [campaignRecipients, mails]) {
    const [mail] = await db
      .select({ workspaceId: table.workspaceId })
      .from(table)
      .where(eq(table.providerMessageHash, hashProviderMessageId(id)))
      .limit(1)
    if (mail) return mail.workspaceId
  }
  return undefined
}

/** A token has the start of the id of its workspace. Of several, the one with the recipient. */
async function findByToken({ db, settings }: BaseCtx, text: string): Promise<WorkspaceId | undefined> {
  const token = openRecipientToken(settings.keys, text)
  if (!token) return undefined
  const { first, last } = token.workspaces
  const rows = await db
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(between(workspaces.id, first, last))
  const ids = rows.map(({ id }) => id)
  if (ids.length <= 1) return ids[0]
  const { subject } = token
  const [row] =
    'mailId' in subject
      ? await db
          .select({ workspaceId: mails.workspaceId })
          .from(mails)
          .where(and(inArray(mails.workspaceId, ids), eq(mails.id, subject.mailId)))
      : await db
          .select({ workspaceId: campaignRecipients.workspaceId })
          .from(campaignRecipients)
          .where(and(inArray(campaignRecipients.workspaceId, ids), eq(campaignRecipients.contactId, subject.contactId)))
          .limit(1)
  return row?.workspaceId
}
