import { sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { type CampaignId, uuidOf } from '../kernel/ids.ts'
import type { Audience, CampaignStats } from './campaigns.schema.ts'
import { readCampaignSummary } from './campaigns.ts'

/** Counts the subscribers that `send` would reach or exclude now. All counts are 0 if the list was deleted. */
export async function readAudience(ctx: Ctx, id: CampaignId): Promise<Audience> {
  const { listId } = await readCampaignSummary(ctx, id)
  const result = await ctx.db.execute<{ status: string; count: number }>(sql`
    select status, count(*)::int as count from subscriptions
    where workspace_id = ${uuidOf(ctx.workspaceId)} and list_id = ${listId && uuidOf(listId)}::uuid
      and exists (select from lists where id = list_id and deleted_at is null)
    group by status`)
  const counts = Object.fromEntries(result.rows.map((row) => [row.status, row.count]))
  const { CONFIRMED = 0, PENDING = 0, UNSUBSCRIBED = 0, BOUNCED = 0, COMPLAINED = 0 } = counts
  return {
    willReceive: CONFIRMED,
    excluded: { pending: PENDING, unsubscribed: UNSUBSCRIBED, bounced: BOUNCED, complained: COMPLAINED },
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
