import { sql } from 'drizzle-orm'
import { composedStatement } from '../../db/statements/named-statement.ts'
import { int, text } from '../../db/statements/sql-types.ts'
import { type CampaignId, uuidOf } from '../../kernel/ids.ts'
import { isMailable } from '../../consent/derive-status.ts'
import type { Ctx } from '../../request/context.ts'
import { withinFilterTime } from '../../segments/within-filter-time.ts'
import { readCampaignSummary } from '../campaigns.ts'
import type { CampaignSummary } from '../campaigns.schema.ts'
import { narrowToSegment } from '../narrow-to-segment.ts'
import type { Audience } from './audience.schema.ts'

/** Counts the subscribers that `send` would reach or exclude now. All counts are 0 if the list was deleted. */
export async function readAudience(ctx: Ctx, id: CampaignId): Promise<Audience> {
  const campaign = await readCampaignSummary(ctx, id)
  return campaign.segmentId
    ? withinFilterTime(ctx, (ctx) => countAudience(ctx, campaign))
    : countAudience(ctx, campaign)
}

const countByStatus = composedStatement('count an audience', { columns: { status: text, count: int } })

async function countAudience(ctx: Ctx, { listId, segmentId }: CampaignSummary): Promise<Audience> {
  const { from, matching, possible = sql`false` } = await narrowToSegment(ctx, { segmentId })
  const query = sql`
    with subscribers as (
      select case when not (${isMailable('s')}) then s.status when ${matching} then 'MAILABLE'
        when ${possible} then 'UNSEEN' else 'OUTSIDE' end as status
      from ${from}
      where s.workspace_id = ${uuidOf(ctx.workspaceId)} and s.list_id = ${listId && uuidOf(listId)}::uuid
        and exists (select from lists l where l.workspace_id = s.workspace_id and l.id = s.list_id and l.deleted_at is null))
    select status, count(*)::int as count from subscribers group by status`
  const rows = await countByStatus(ctx.db, query)
  const counts = Object.fromEntries(rows.map((row) => [row.status, row.count]))
  const { MAILABLE = 0, OUTSIDE = 0, UNSEEN = 0, PENDING = 0, UNSUBSCRIBED = 0, BOUNCED = 0, COMPLAINED = 0 } = counts
  return {
    willReceive: MAILABLE,
    excluded: {
      pending: PENDING,
      unsubscribed: UNSUBSCRIBED,
      bounced: BOUNCED,
      complained: COMPLAINED,
      outsideSegment: OUTSIDE + UNSEEN,
    },
    unseen: UNSEEN,
  }
}
