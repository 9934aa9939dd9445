import { not, sql, type SQLWrapper } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { deliveries } from '../../db/schema/index.ts'
import { bool, timestamptz } from '../../db/statements/sql-types.ts'
import { transaction } from '../../db/transaction.ts'
import { idOf, nilUuid, type WorkspaceId } from '../../kernel/ids.ts'
import { isInStoppedWorkspace } from '../../request/workspace-state.ts'
import { drainId } from '../../work/queues.ts'
import { indexScanSettings } from './index-scan-settings.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'

export interface BacklogPage {
  /** The workspaces whose backlog a job can claim. */
  workspaceIds: WorkspaceId[]
  /** The last workspace of this page: pass it as `after` to get the next page. Undefined on the last page. */
  last: WorkspaceId | undefined
}

/** The number of PENDING deliveries that a page reads to find workspaces with a backlog. */
const pageSize = 500

/**
 * Finds workspaces with PENDING deliveries that a drain can take: no job has claimed the drain, the workspace is neither
 * suspended nor deleted, and the webhook is not paused. Includes those of disabled webhooks, which the drain marks as FAILED.
 *
 * A page reads the next PENDING deliveries in the index to find workspaces, and then webhooks of each workspace with one
 * delivery of each, 8 µs per webhook, until it finds one that a drain can take. The next page skips the remaining
 * deliveries of its last workspace. So workspaces without a backlog cost nothing, and a long backlog costs as much as a
 * page. A recursive CTE could skip from workspace to workspace, but not over several servers. Neither may a sub-select
 * refer to a query level that reads only CTEs: those of a workspace refer to a webhook of it.
 */
export async function findBacklogs(db: Db, after = lowestId): Promise<BacklogPage> {
  const rows = await transaction(db, (db) => findPage(db, { after, now: timestampNow() }), indexScanSettings)
  const workspaceIds = rows.filter((row) => row.isClaimable).map((row) => row.workspaceId)
  const lastRow = rows.at(-1)
  return { workspaceIds, last: lastRow?.isFullPage ? lastRow.workspaceId : undefined }
}

const lowestId = idOf('wsp', nilUuid)

/** A condition on the health of a webhook. */
export const isNotPaused = (now: SQLWrapper) => sql`(paused_until is null or paused_until <= ${now})`

/** A condition on a webhook `w` and its health: it is not paused, or it is disabled, so that its deliveries fail. */
export const isDrainable = (now: SQLWrapper) => sql`(not w.enabled or ${isNotPaused(now)})`

/**
 * A condition: the workspace has PENDING deliveries of a webhook that is not paused, or of a disabled one.
 *
 * The inner sub-select is not an EXISTS, which PostgreSQL might turn into a join that reads all PENDING deliveries. Its
 * ORDER BY is that of `deliveries_pending_index`: in the index of the primary key, PostgreSQL would read ended deliveries.
 */
export const hasBacklog = (workspaceId: SQLWrapper, now: SQLWrapper) => sql`
  coalesce((
    select true from webhooks w
    left join webhook_health health on health.workspace_id = w.workspace_id and health.webhook_id = w.id
    where w.workspace_id = ${workspaceId} and ${isDrainable(now)}
      and (
        select true from deliveries d
        where d.workspace_id = ${workspaceId} and d.webhook_id = w.id and d.status = 'PENDING'
        order by d.created_at, d.id limit 1)
    limit 1), false)`

/** `page` is not sorted: to avoid a sort, PostgreSQL would read all webhooks in the order of their index. */
const findPage = namedStatement('find backlogs', {
  isPrepared: true,
  params: { after: deliveries.workspaceId, now: timestamptz },
  columns: { workspaceId: deliveries.workspaceId, isClaimable: bool, isFullPage: bool },
  sql: ({ after, now }) => sql`
    with pending as materialized (
      select workspace_id, webhook_id from deliveries
      where status = 'PENDING' and workspace_id > ${after}
      order by workspace_id, webhook_id, created_at, id limit ${pageSize}::int),
    backlog as materialized (
      select workspace_id, (array_agg(webhook_id))[1] as webhook_id from pending group by workspace_id),
    page as materialized (
      select found.workspace_id, not coalesce((
          select token is not null from work where work.workspace_id = found.workspace_id and id = ${drainId}::uuid), false)
        and ${not(isInStoppedWorkspace(sql`found.workspace_id`))}
        and ${hasBacklog(sql`found.workspace_id`, now)} as is_claimable
      from backlog join webhooks found on found.workspace_id = backlog.workspace_id and found.id = backlog.webhook_id)
    select workspace_id, is_claimable, (select count(*) from pending) = ${pageSize}::int as is_full_page
    from page order by workspace_id`,
})
