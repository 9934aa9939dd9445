import { sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { type CampaignId, uuidOf } from '../kernel/ids.ts'
import type { CampaignStats } from './campaigns.schema.ts'

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
