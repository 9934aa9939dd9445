import { and, type AnyColumn, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { campaignBatches, campaigns } from '../db/schema/index.ts'
import { notFound } from '../kernel/errors.ts'
import type { CampaignId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import type { CampaignStats } from './campaigns.schema.ts'

const sum = (column: AnyColumn) => sql<number>`coalesce(sum(${column}), 0)::int`

/** Reads the counters of a campaign in one snapshot. Sums the counters of its batches: one row per 200 recipients. */
export async function readStats(ctx: Ctx, id: CampaignId): Promise<CampaignStats> {
  const [row] = await ctx.db
    .select({
      queued: campaigns.queued,
      sent: sum(campaignBatches.sent),
      failed: sum(campaignBatches.failed),
      skipped: sum(campaignBatches.skipped),
      interrupted: sum(campaignBatches.interrupted),
      opened: sum(campaignBatches.opened),
      clicked: sum(campaignBatches.clicked),
      unsubscribed: sum(campaignBatches.unsubscribed),
      bounced: sum(campaignBatches.bounced),
      complained: sum(campaignBatches.complained),
    })
    .from(campaigns)
    .leftJoin(
      campaignBatches,
      and(eq(campaignBatches.workspaceId, campaigns.workspaceId), eq(campaignBatches.campaignId, campaigns.id)),
    )
    .where(byId(campaigns, ctx, id))
    .groupBy(campaigns.queued)
  if (!row) throw notFound('Campaign')
  const { queued, sent, failed, skipped, interrupted } = row
  return { ...row, pending: queued - sent - failed - skipped - interrupted }
}
