import { and, type AnyColumn, count, eq, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { campaignBatches, campaignRecipients, campaigns } from '../db/schema/index.ts'
import { notFound } from '../kernel/errors.ts'
import type { CampaignId } from '../kernel/ids.ts'
import type { BounceClass } from '../mail/bounces/bounce.schema.ts'
import { byId } from '../request/by-id.ts'
import { readLinkClicks } from './link-clicks.ts'
import type { CampaignStats } from './campaign-stats.schema.ts'

const sum = (column: AnyColumn | SQL) => sql<number>`coalesce(sum(${column}), 0)::int`

/** What mail servers accepted or rejected of a group of batches, and what was reported of it. */
export const sumsOfBatches = {
  mails: sum(sql`${campaignBatches.sent} + ${campaignBatches.failed}`),
  bounced: sum(campaignBatches.bounced),
  complained: sum(campaignBatches.complained),
}

/** Joins a campaign with its batches. */
export const isOwnBatch = and(
  eq(campaignBatches.workspaceId, campaigns.workspaceId),
  eq(campaignBatches.campaignId, campaigns.id),
)

/**
 * Reads the counters of a campaign, those by status in one snapshot. Sums the counters of its batches: one row per 200
 * recipients.
 */
export async function readStats(ctx: Ctx, id: CampaignId): Promise<CampaignStats> {
  const [row] = await ctx.db
    .select({
      isDraft: sql<boolean>`${campaigns.status} = 'DRAFT'`,
      trackClicks: campaigns.trackClicks,
      queued: campaigns.queued,
      sent: sum(campaignBatches.sent),
      failed: sum(campaignBatches.failed),
      skipped: sum(campaignBatches.skipped),
      interrupted: sum(campaignBatches.interrupted),
      opened: sum(campaignBatches.opened),
      clicked: sum(campaignBatches.clicked),
      anonymousOpens: sum(campaignBatches.anonymousOpens),
      anonymousClicks: sum(campaignBatches.anonymousClicks),
      unsubscribed: sum(campaignBatches.unsubscribed),
      complained: sum(campaignBatches.complained),
    })
    .from(campaigns)
    .leftJoin(campaignBatches, isOwnBatch)
    .where(byId(campaigns, ctx, id))
    .groupBy(campaigns.status, campaigns.trackClicks, campaigns.queued)
  if (!row) throw notFound('Campaign')
  const { isDraft, trackClicks, ...counters } = row
  const { queued, sent, failed, skipped, interrupted } = counters
  const pending = queued - sent - failed - skipped - interrupted
  const bouncesByClass = await countBounces(ctx, id)
  const links = trackClicks ? await readLinkClicks(ctx, id, { isDraft }) : []
  return { ...counters, pending, bounced: bouncesByClass.HARD, bouncesByClass, links }
}

async function countBounces(ctx: Ctx, id: CampaignId): Promise<CampaignStats['bouncesByClass']> {
  const { bounceClass } = campaignRecipients
  const rows = await ctx.db
    .select({ bounceClass, count: count() })
    .from(campaignRecipients)
    .where(
      and(
        eq(campaignRecipients.workspaceId, ctx.workspaceId),
        eq(campaignRecipients.campaignId, id),
        isNotNull(bounceClass),
      ),
    )
    .groupBy(bounceClass)
  const countOf = (kind: BounceClass) => rows.find((row) => row.bounceClass === kind)?.count ?? 0
  return { HARD: countOf('HARD'), SOFT: countOf('SOFT'), MESSAGE: countOf('MESSAGE'), POLICY: countOf('POLICY') }
}

/**
 * Whether a campaign mailed after a moment: it can go on for long after its start, paused and retried. One that is paused or
 * canceled stopped when it was changed.
 */
export const hasMailedSince = (
  moment: SQL,
): SQL => sql`${campaigns.sentAt} is not null and (${campaigns.status} = 'SENDING'
  or coalesce(${campaigns.completedAt}, ${campaigns.updatedAt}) > ${moment})`
