/** What an operator compares of all workspaces: their size, what they send, and what waits or fails. */
import { asc, count, eq, isNull, max, sql } from 'drizzle-orm'
import { minComplaints, minMailsForHardRate } from '../../campaigns/find-rate-problem.ts'
import { hasMailedSince, isOwnBatch, sumsOfBatches } from '../../campaigns/campaign-stats.ts'
import type { Db } from '../../db/client.ts'
import { campaignBatches, campaigns, contacts, deliveries, emails, work, workspaces } from '../../db/schema/index.ts'
import type { CampaignId, WorkspaceId } from '../../kernel/ids.ts'
import { laterOf, type Timestamp } from '../../kernel/values/timestamps.ts'
import { countFailingByWorkspace } from '../../webhooks/health/failing-webhooks.ts'
import { isNoDrain } from '../../work/kinds.ts'
import type { Workspace } from '../../workspaces/workspaces.schema.ts'

export interface WorkspaceFigures extends Pick<Workspace, 'id' | 'name' | 'suspendedAt' | 'createdAt'> {
  contacts: number
  /** Of the last 30 days: emails of campaigns and to one person that a mail server accepted or rejected. */
  mails: number
  /** The share of `mails` whose address does not exist. Null without mails. */
  hardBounceRate: number | null
  /** The share of `mails` that was reported as spam. Null without mails. */
  complaintRate: number | null
  /** The highest rate of a campaign in these 30 days, see `findRate`. Null without one. */
  worstHardBounceRate: number | null
  worstHardBounceCampaignId: CampaignId | null
  worstComplaintRate: number | null
  worstComplaintCampaignId: CampaignId | null
  /** Enabled webhooks whose attempts have all failed for an hour or longer. */
  failingWebhooks: number
  /** Emails, imports and other work that is not done, and PENDING deliveries. */
  pendingWork: number
  /** When a campaign was last sent, or in the last 30 days an email to one person. */
  lastSentAt: Timestamp | null
}

/**
 * Lists all workspaces of the installation with their figures, oldest first. What campaigns sent is read from the counters
 * of their batches, so it stays right when contacts are merged or erased, and ten million recipients are fifty thousand rows.
 */
export async function listWorkspaceFigures(db: Db): Promise<WorkspaceFigures[]> {
  // One statement after the other: the operator's question takes one connection of a pool in use.
  const listed = await listWorkspaces(db)
  const contactCounts = toCounts(await countContacts(db))
  const failing = toCounts(await countFailingByWorkspace(db))
  const waiting = toCounts(await countWork(db))
  const pending = toCounts(await countDeliveries(db))
  const sentCampaigns = Map.groupBy(await listSentCampaigns(db), ({ workspaceId }) => workspaceId)
  const sentEmails = new Map((await sumEmails(db)).map((row) => [row.workspaceId, row]))
  const lastCampaigns = new Map((await listLastCampaigns(db)).map((row) => [row.workspaceId, row.lastSentAt]))
  return listed.map((workspace) => {
    const { id } = workspace
    const ofCampaigns = sentCampaigns.get(id) ?? []
    const ofEmails = sentEmails.get(id)
    const all = [...ofCampaigns, ...(ofEmails ? [ofEmails] : [])]
    const mails = sum(all, 'mails')
    const [bouncing, reported] = [findWorst(ofCampaigns, 'bounced'), findWorst(ofCampaigns, 'complained')]
    return {
      ...workspace,
      contacts: contactCounts.get(id) ?? 0,
      mails,
      hardBounceRate: mails > 0 ? sum(all, 'bounced') / mails : null,
      complaintRate: mails > 0 ? sum(all, 'complained') / mails : null,
      worstHardBounceRate: bouncing?.rate ?? null,
      worstHardBounceCampaignId: bouncing?.campaignId ?? null,
      worstComplaintRate: reported?.rate ?? null,
      worstComplaintCampaignId: reported?.campaignId ?? null,
      failingWebhooks: failing.get(id) ?? 0,
      pendingWork: (waiting.get(id) ?? 0) + (pending.get(id) ?? 0),
      lastSentAt: laterOf(lastCampaigns.get(id) ?? null, ofEmails?.lastSentAt ?? null),
    }
  })
}

export const sortFields = [
  'createdAt',
  'name',
  'contacts',
  'mails',
  'hardBounceRate',
  'complaintRate',
  'worstHardBounceRate',
  'worstComplaintRate',
  'failingWebhooks',
  'pendingWork',
  'lastSentAt',
] as const satisfies readonly (keyof WorkspaceFigures)[]
export type SortField = (typeof sortFields)[number]

/** Sorts names and times of creation upward, and all others from the highest to the lowest, those without a value last. */
export function sortFigures(figures: readonly WorkspaceFigures[], by: SortField): WorkspaceFigures[] {
  if (by === 'createdAt') return [...figures]
  if (by === 'name') return figures.toSorted((one, other) => one.name.localeCompare(other.name, 'en'))
  const valueOf = (one: WorkspaceFigures) => (by === 'lastSentAt' ? Date.parse(one.lastSentAt ?? '') : one[by]) ?? NaN
  return figures.toSorted((one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)]
    return Number.isNaN(a) || Number.isNaN(b) ? Number(Number.isNaN(a)) - Number(Number.isNaN(b)) : b - a
  })
}

export interface Sent {
  mails: number
  bounced: number
  complained: number
}

const sum = (rows: readonly Sent[], field: keyof Sent) => rows.reduce((total, row) => total + row[field], 0)

/** Undefined below 500 mails, and of complaints below ten: a few reports would be a high rate. */
export function findRate(sent: Sent, kind: 'bounced' | 'complained'): number | undefined {
  const isRated = sent.mails >= minMailsForHardRate && (kind === 'bounced' || sent.complained >= minComplaints)
  return isRated ? sent[kind] / sent.mails : undefined
}

function findWorst(rows: readonly (Sent & { campaignId: CampaignId })[], kind: 'bounced' | 'complained') {
  const rated = rows.flatMap((row) => {
    const rate = findRate(row, kind)
    return rate === undefined ? [] : { campaignId: row.campaignId, rate }
  })
  return rated.toSorted((one, other) => other.rate - one.rate)[0]
}

const toCounts = (rows: readonly { workspaceId: WorkspaceId; count: number }[]) =>
  new Map(rows.map(({ workspaceId, count }) => [workspaceId, count]))

async function listWorkspaces(db: Db) {
  return await db
    .select({
      id: workspaces.id,
      name: workspaces.name,
      suspendedAt: workspaces.suspendedAt,
      createdAt: workspaces.createdAt,
    })
    .from(workspaces)
    .where(isNull(workspaces.deletedAt))
    .orderBy(asc(workspaces.createdAt), asc(workspaces.id))
}

/** An index is enough: see `find-quotas-near-limit.ts`, which counts 20 million in two seconds. */
async function countContacts(db: Db) {
  return await db
    .select({ workspaceId: contacts.workspaceId, count: count() })
    .from(contacts)
    .groupBy(contacts.workspaceId)
}

async function countWork(db: Db) {
  return await db
    .select({ workspaceId: work.workspaceId, count: count() })
    .from(work)
    .where(isNoDrain)
    .groupBy(work.workspaceId)
}

async function countDeliveries(db: Db) {
  return await db
    .select({ workspaceId: deliveries.workspaceId, count: count() })
    .from(deliveries)
    .where(eq(deliveries.status, 'PENDING'))
    .groupBy(deliveries.workspaceId)
}

const monthAgo = sql`now() - interval '30 days'`

async function listSentCampaigns(db: Db) {
  return await db
    .select({
      workspaceId: campaigns.workspaceId,
      campaignId: campaigns.id,
      ...sumsOfBatches,
    })
    .from(campaigns)
    .innerJoin(campaignBatches, isOwnBatch)
    .where(hasMailedSince(monthAgo))
    .groupBy(campaigns.workspaceId, campaigns.id)
}

async function listLastCampaigns(db: Db) {
  return await db
    .select({ workspaceId: campaigns.workspaceId, lastSentAt: max(campaigns.sentAt) })
    .from(campaigns)
    .groupBy(campaigns.workspaceId)
}

async function sumEmails(db: Db) {
  return await db
    .select({
      workspaceId: emails.workspaceId,
      mails: sql<number>`count(*) filter (where ${emails.status} in ('SENT', 'FAILED'))::int`,
      bounced: sql<number>`count(*) filter (where ${emails.bounceClass} = 'HARD')::int`,
      complained: sql<number>`count(${emails.complainedAt})::int`,
      lastSentAt: sql<Timestamp | null>`max(${emails.endedAt}) filter (where ${emails.status} = 'SENT')`.mapWith(
        emails.endedAt,
      ),
    })
    .from(emails)
    .where(sql`${emails.createdAt} > ${monthAgo}`)
    .groupBy(emails.workspaceId)
}
