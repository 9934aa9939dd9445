/** Senders that were saved before another workspace verified their domain: nothing is sent from them. */
import { and, eq, inArray, isNotNull, isNull } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { campaigns, domains, templates, templateVersions, workspaces } from '../../db/schema/index.ts'
import { isVerifiedByOther } from '../../domains/senders.ts'
import { isCurrentVersion } from '../../emails/templates/templates.ts'
import type { WorkspaceId } from '../../kernel/ids.ts'
import { mailDomain } from '../../mail/outgoing-mail.ts'

export interface SenderOfOther {
  workspaceId: WorkspaceId
  fromEmail: string
}

const maxListed = 50

/** Lists senders of workspaces, templates, and campaigns that can still be sent, at most 50. */
export async function listSendersOfOthers(db: Db): Promise<SenderOfOther[]> {
  const verified = new Set((await selectVerified(db)).map(({ name }) => name))
  const senders = [
    ...(await selectSendersOfWorkspaces(db)),
    ...(await selectSendersOfCampaigns(db)),
    ...(await selectSendersOfTemplates(db)),
  ]
  const found = new Map<string, SenderOfOther>()
  for (const { workspaceId, fromEmail } of senders) {
    const domain = mailDomain(fromEmail ?? '').toLowerCase()
    const isNamed = [...verified].some((name) => `.${domain}`.endsWith(`.${name}`))
    if (fromEmail === null || !isNamed || !(await isVerifiedByOther({ db, workspaceId }, domain))) continue
    found.set(`${workspaceId} ${fromEmail}`, { workspaceId, fromEmail })
    if (found.size === maxListed) break
  }
  return [...found.values()]
}

const selectVerified = (db: Db) =>
  db.selectDistinct({ name: domains.name }).from(domains).where(eq(domains.status, 'VERIFIED'))

const selectSendersOfWorkspaces = (db: Db) =>
  db
    .select({ workspaceId: workspaces.id, fromEmail: workspaces.fromEmail })
    .from(workspaces)
    .where(and(isNotNull(workspaces.fromEmail), isNull(workspaces.deletedAt)))

const selectSendersOfCampaigns = (db: Db) =>
  db
    .selectDistinct({ workspaceId: campaigns.workspaceId, fromEmail: campaigns.fromEmail })
    .from(campaigns)
    .where(and(isNotNull(campaigns.fromEmail), inArray(campaigns.status, ['DRAFT', 'SENDING', 'PAUSED'])))

const selectSendersOfTemplates = (db: Db) =>
  db
    .selectDistinct({ workspaceId: templateVersions.workspaceId, fromEmail: templateVersions.fromEmail })
    .from(templates)
    .innerJoin(templateVersions, isCurrentVersion)
    .where(isNotNull(templateVersions.fromEmail))
