/** How far campaigns are, and when they will be done. */
import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import type { campaignStatuses } from '../../db/schema/index.ts'
import { type CampaignId, idOf, uuidOf, type WorkspaceId } from '../../kernel/ids.ts'
import { timestampOf } from '../../kernel/validation.ts'

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
  const conditions: SQL[] = [
    campaignId === undefined ? sql`c.status in ('SENDING', 'PAUSED')` : sql`c.id = ${uuidOf(campaignId)}`,
    workspaceId === undefined ? sql`true` : sql`c.workspace_id = ${uuidOf(workspaceId)}`,
  ]
  const sum = (column: string) => sql.raw(`coalesce(sum(b.${column}), 0)::int as ${column}`)
  const { rows } = await db.execute<CampaignRow>(sql`
    select c.id, c.workspace_id as "workspaceId", c.name, c.status, c.pause_reason as "pauseReason", c.queued,
      c.sent_at as "sentAt", c.completed_at as "completedAt",
      ${sql.join(['sent', 'failed', 'skipped', 'interrupted'].map(sum), sql`, `)},
      case c.status when 'SENDING' then (
        select count(*)::int from campaign_recipients r
        where r.workspace_id = c.workspace_id and r.campaign_id = c.id and r.created_at > now() - interval '1 minute')
      else 0 end as "recipientsPerMinute"
    from campaigns c left join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
    where ${sql.join(conditions, sql` and `)}
    group by c.workspace_id, c.id order by c.sent_at, c.id`)
  return rows.map(toOverview)
}

type Counters = Pick<CampaignOverview, 'queued' | 'sent' | 'failed' | 'skipped' | 'interrupted'>
type CampaignRow = Counters &
  Pick<CampaignOverview, 'name' | 'status' | 'pauseReason' | 'recipientsPerMinute'> & {
    id: string
    workspaceId: string
    sentAt: string | null
    completedAt: string | null
  } & Record<string, unknown>

function toOverview(row: CampaignRow): CampaignOverview {
  const pending = row.queued - row.sent - row.failed - row.skipped - row.interrupted
  const sentAt = row.sentAt === null ? null : timestampOf(row.sentAt)
  // A campaign that began less than a minute ago has no full minute to count.
  const minutes = Math.min(1, Math.max(1 / 60, (Date.now() - Date.parse(sentAt ?? '1970-01-01')) / 60_000))
  const perMinute = Math.round(row.recipientsPerMinute / minutes)
  return {
    id: idOf('cmp', row.id),
    workspaceId: idOf('wsp', row.workspaceId),
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
    sentAt,
    completedAt: row.completedAt === null ? null : timestampOf(row.completedAt),
  }
}
