/** How far campaigns are, and when they will be done. */
import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { campaigns, type campaignStatuses } from '../../db/schema/index.ts'
import { int, nullable } from '../../db/statements/sql-types.ts'
import type { CampaignId, WorkspaceId } from '../../kernel/ids.ts'

export interface CampaignOverview {
  id: CampaignId
  workspaceId: WorkspaceId
  name: string
  status: (typeof campaignStatuses)[number]
  /** Why a worker paused the campaign; null if a user did, or if it is not PAUSED. */
  pauseReason: string | null
  queued: number
  sent: number
  failed: number
  skipped: number
  interrupted: number
  pending: number
  /** Recipients that were claimed in the last minute. */
  recipientsPerMinute: number
  /** How long the pending recipients take at this rate; null if the campaign is not SENDING or the rate is 0. */
  remainingSeconds: number | null
  sentAt: string | null
  completedAt: string | null
}

interface Filter {
  workspaceId?: WorkspaceId | undefined
  campaignId?: CampaignId | undefined
}

/** Lists the campaigns that are SENDING or PAUSED, oldest first; with `campaignId`, this one in any status. */
export async function listCampaignOverviews(
  db: Db,
  { workspaceId, campaignId }: Filter = {},
): Promise<CampaignOverview[]> {
  const rows = await selectOverviews(db, { workspaceId: workspaceId ?? null, campaignId: campaignId ?? null })
  return rows.map(toOverview)
}

const sum = (column: string) => sql.raw(`coalesce(sum(b.${column}), 0)::int as ${column}`)

const selectOverviews = namedStatement('list campaign overviews', {
  params: { workspaceId: nullable(campaigns.workspaceId), campaignId: nullable(campaigns.id) },
  columns: {
    id: campaigns.id,
    workspaceId: campaigns.workspaceId,
    name: campaigns.name,
    status: campaigns.status,
    pauseReason: campaigns.pauseReason,
    queued: campaigns.queued,
    sentAt: campaigns.sentAt,
    completedAt: campaigns.completedAt,
    sent: int,
    failed: int,
    skipped: int,
    interrupted: int,
    recipientsPerMinute: int,
  },
  sql: ({ workspaceId, campaignId }) => sql`
    select c.id, c.workspace_id, c.name, c.status, c.pause_reason, c.queued, c.sent_at, c.completed_at,
      ${sql.join(['sent', 'failed', 'skipped', 'interrupted'].map(sum), sql`, `)},
      case when c.status = 'SENDING' then (
        select count(*)::int from campaign_recipients r
        where r.workspace_id = c.workspace_id and r.campaign_id = c.id and r.created_at > now() - interval '1 minute')
      else 0 end as recipients_per_minute
    from campaigns c left join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
    where (${workspaceId} is null or c.workspace_id = ${workspaceId})
      and case when ${campaignId} is null then c.status in ('SENDING', 'PAUSED') else c.id = ${campaignId} end
    group by c.workspace_id, c.id order by c.sent_at, c.id`,
})

function toOverview(row: Awaited<ReturnType<typeof selectOverviews>>[number]): CampaignOverview {
  const pending = row.queued - row.sent - row.failed - row.skipped - row.interrupted
  // A campaign that began less than a minute ago has no full minute to count.
  const minutes = Math.min(1, Math.max(1 / 60, (Date.now() - (row.sentAt ? Date.parse(row.sentAt) : 0)) / 60_000))
  const perMinute = Math.round(row.recipientsPerMinute / minutes)
  return {
    id: row.id,
    workspaceId: row.workspaceId,
    name: row.name,
    status: row.status,
    pauseReason: row.status === 'PAUSED' ? row.pauseReason : null,
    queued: row.queued,
    sent: row.sent,
    failed: row.failed,
    skipped: row.skipped,
    interrupted: row.interrupted,
    pending,
    recipientsPerMinute: perMinute,
    remainingSeconds: perMinute > 0 && pending > 0 ? Math.ceil((pending / perMinute) * 60) : null,
    sentAt: row.sentAt,
    completedAt: row.completedAt,
  }
}
