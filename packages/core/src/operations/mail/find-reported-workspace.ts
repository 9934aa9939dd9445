import { and, between, eq, inArray } from 'drizzle-orm'
import { parseMessageId } from '../../campaigns/engagement.ts'
import type { Db } from '../../db/client.ts'
import { campaignRecipients, campaigns, emails, mails, workspaces } from '../../db/schema/index.ts'
import { isAnyOf } from '../../db/statements/is-any-of.ts'
import { parseEmailMessageId } from '../../emails/email-reports.ts'
import type { WorkspaceId } from '../../kernel/ids.ts'
import { hashProviderMessageId } from '../../mail/providers/provider-message-id.ts'
import { openRecipientToken, type RecipientToken } from '../../mail/bounces/recipient-token.ts'
import type { BaseCtx } from '../../request/context.ts'
import type { MailReport } from './mail-report.ts'

/**
 * Finds the workspace of the email that a report names, for a report that can be of any workspace. An address alone
 * names no workspace. Undefined if the email is unknown.
 */
export async function findReportedWorkspace(base: BaseCtx, report: MailReport): Promise<WorkspaceId | undefined> {
  const [workspaceId] = await listReportedWorkspaces(base, [report])
  return workspaceId
}

/** Finds the workspaces of several reports, in their order, with one statement for each kind of id. */
export async function listReportedWorkspaces(
  base: BaseCtx,
  reports: readonly MailReport[],
): Promise<(WorkspaceId | undefined)[]> {
  const [byProviderId, byMessageId] = [await listByProviderId(base, reports), await listByMessageId(base, reports)]
  const found: (WorkspaceId | undefined)[] = []
  const byToken = memoizeTokens(base)
  for (const { recipientToken: token, providerMessageId, messageId } of reports) {
    const known = byProviderId.get(providerMessageId) ?? byMessageId.get(messageId)
    found.push(token === null ? known : await byToken(token))
  }
  return found
}

type Known = ReadonlyMap<string | null, WorkspaceId>

async function listByMessageId({ db }: BaseCtx, reports: readonly MailReport[]): Promise<Known> {
  const messageIds = [...new Set(reports.flatMap(({ messageId }) => messageId ?? []))]
  const known = await listByEmailId(db, messageIds)
  const campaignIds = new Map(
    messageIds.flatMap((messageId) => {
      const recipient = parseMessageId(messageId)
      return recipient ? [[messageId, recipient.campaignId] as const] : []
    }),
  )
  if (campaignIds.size === 0) return known
  const rows = await db
    .select({ id: campaigns.id, workspaceId: campaigns.workspaceId })
    .from(campaigns)
    .where(inArray(campaigns.id, [...new Set(campaignIds.values())]))
  const workspaces = new Map(rows.map(({ id, workspaceId }) => [id, workspaceId]))
  return new Map([...known, ...mapValues(campaignIds, (id) => workspaces.get(id))])
}

/** The workspace that a `Message-ID` names counts if it has the email. */
async function listByEmailId(db: Db, messageIds: readonly string[]): Promise<Known> {
  const named = messageIds.flatMap((messageId) => {
    const { id, workspaceId } = parseEmailMessageId(messageId) ?? {}
    return id && workspaceId ? { messageId, id, workspaceId } : []
  })
  if (named.length === 0) return new Map()
  const ids = named.map(({ id }) => id)
  const workspaceIds = [...new Set(named.map(({ workspaceId }) => workspaceId))]
  const rows = await db
    .select({ id: emails.id, workspaceId: emails.workspaceId })
    .from(emails)
    .where(and(isAnyOf(emails.workspaceId, workspaceIds), isAnyOf(emails.id, ids)))
  const found = new Map(rows.map(({ id, workspaceId }) => [id, workspaceId]))
  return mapValues(new Map(named.map(({ messageId, id }) => [messageId, id])), (id) => found.get(id))
}

/** The id of a campaign's email comes before that of a single email. */
async function listByProviderId({ db }: BaseCtx, reports: readonly MailReport[]): Promise<Known> {
  const ids = reports.flatMap(({ providerMessageId: id }) =>
    id === null ? [] : [[id, hashProviderMessageId(id)] as const],
  )
  const hashes = [...new Set(ids.map(([, hash]) => hash))]
  if (hashes.length === 0) return new Map()
  const found = new Map<string | null, WorkspaceId>()
  for (const table of [mails, emails, campaignRecipients]) {
    const rows = await db
      .select({ hash: table.providerMessageHash, workspaceId: table.workspaceId })
      .from(table)
      .where(isAnyOf(table.providerMessageHash, hashes))
    for (const { hash, workspaceId } of rows) found.set(hash, workspaceId)
  }
  return mapValues(new Map(ids), (hash) => found.get(hash))
}

function mapValues<Value, Mapped>(
  map: ReadonlyMap<string | null, Value>,
  change: (value: Value) => Mapped | undefined,
): Map<string | null, Mapped> {
  const changed = [...map].map(([key, value]) => [key, change(value)] as const)
  return new Map(changed.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])))
}

/** A token has the start of the id of its workspace, which is read once. Of several, the one with the recipient. */
function memoizeTokens({ db, settings }: BaseCtx): (text: string) => Promise<WorkspaceId | undefined> {
  const known = new Map<WorkspaceId, WorkspaceId[]>()
  return async (text) => {
    const token = openRecipientToken(settings.keys, text)
    if (!token) return undefined
    const { first, last } = token.workspaces
    const ids = known.get(first) ?? (await listWorkspaces(db, first, last))
    known.set(first, ids)
    return ids.length <= 1 ? ids[0] : findOfSeveral(db, token, ids)
  }
}

async function listWorkspaces(db: Db, first: WorkspaceId, last: WorkspaceId): Promise<WorkspaceId[]> {
  const { id } = workspaces
  const rows = await db
    .select({ id })
    .from(workspaces)
    .where(between(id, first, last))
  return rows.map((row) => row.id)
}

async function findOfSeveral(
  db: Db,
  { subject }: RecipientToken,
  ids: readonly WorkspaceId[],
): Promise<WorkspaceId | undefined> {
  if ('contactId' in subject) {
    const { workspaceId, contactId } = campaignRecipients
    const isRecipient = and(inArray(workspaceId, [...ids]), eq(contactId, subject.contactId))
    const [row] = await db.select({ workspaceId }).from(campaignRecipients).where(isRecipient).limit(1)
    return row?.workspaceId
  }
  const [table, id] = 'emailId' in subject ? [emails, subject.emailId] : [mails, subject.mailId]
  const [row] = await db
    .select({ workspaceId: table.workspaceId })
    .from(table)
    .where(and(inArray(table.workspaceId, [...ids]), eq(table.id, id)))
  return row?.workspaceId
}
