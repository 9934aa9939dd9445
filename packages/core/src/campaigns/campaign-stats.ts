import { sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { type CampaignId, uuidOf } from '../kernel/ids.ts'
import { withinFilterTime } from '../segments/within-filter-time.ts'
import type { Audience, CampaignStats, CampaignSummary } from './campaigns.schema.ts'
import { readCampaignSummary } from './campaigns.ts'
import { selectSegment } from './segment-of-list.ts'

/** Counts the subscribers that `send` would reach or exclude now. All counts are 0 if the list was deleted. */
export async function readAudience(ctx: Ctx, id: CampaignId): Promise<Audience> {
  const campaign = await readCampaignSummary(ctx, id)
  return campaign.segmentId
    ? withinFilterTime(ctx, (ctx) => countAudience(ctx, campaign))
    : countAudience(ctx, campaign)
}

async function countAudience(ctx: Ctx, { listId, segmentId }: CampaignSummary): Promise<Audience> {
  const { from, where } = await selectSegment(ctx, { segmentId })
  const result = await ctx.db.execute<{ status: string; count: number }>(sql`
    with subscribers as (
      select case when s.status = 'CONFIRMED' and (${where}) is not true then 'OUTSIDE' else s.status end as status
      from ${from}
      where s.workspace_id = ${uuidOf(ctx.workspaceId)} and s.list_id = ${listId && uuidOf(listId)}::uuid
        and exists (select from lists l where l.workspace_id = s.workspace_id and l.id = s.list_id and l.deleted_at is null))
    select status, count(*)::int as count from subscribers group by status`)
  const counts = Object.fromEntries(result.rows.map((row) => [row.status, row.count]))
  const { CONFIRMED = 0, OUTSIDE = 0, PENDING = 0, UNSUBSCRIBED = 0, BOUNCED = 0, COMPLAINED = 0 } = counts
  return {
    willReceive: CONFIRMED,
    excluded: {
      pending: PENDING,
      unsubscribed: UNSUBSCRIBED,
      bounced: BOUNCED,
      complained: COMPLAINED,
      outsideSegment: OUTSIDE,
    },
  }
}

/** Reads the counters of a campaign in one snapshot. Sums the counters of its batches: one row per 200 recipients. */
export async function readStats(ctx: Ctx, id: CampaignId): Promise<CampaignStats> {
  const sum = (column: string) => sql.raw(`coalesce(sum(b.${column}), 0)::int as ${column}`)
  const columns = [
    'sent',
    'failed',
    'skipped',
    'interrupted',
    'opened',
    'clicked',
    'unsubscribed',
    'bounced',
    'complained',
  ]
  const result = await ctx.db.execute<Omit<CampaignStats, 'pending'>>(sql`
    select c.queued, ${sql.join(columns.map(sum), sql`, `)}
    from campaigns c
    left join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
    where c.workspace_id = ${uuidOf(ctx.workspaceId)} and c.id = ${uuidOf(id)}
    group by c.queued`)
  const [row] = result.rows
  if (!row) throw notFound('Campaign')
  const { queued, sent, failed, skipped, interrupted } = row
  return { ...row, pending: queued - sent - failed - skipped - interrupted }
}
