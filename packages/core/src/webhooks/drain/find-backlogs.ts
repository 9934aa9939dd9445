import { not, sql, type SQLWrapper } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { deliveries } from '../../db/schema/index.ts'
import { bool, timestamptz } from '../../db/statements/sql-types.ts'
import { transaction } from '../../db/transaction.ts'
import { idOf, nilUuid, type WorkspaceId } from '../../kernel/ids.ts'
import { isInSuspendedWorkspace } from '../../request/suspended-workspace.ts'
import { drainId } from '../../work/queues.ts'
import { indexScanSettings } from './index-scan-settings.ts'

export interface BacklogPage {
  /** The workspaces whose backlog a job can claim. */
  workspaceIds: WorkspaceId[]
  /** The last workspace of this page: pass it as `after` to get the next page. Undefined on the last page. */
  last: WorkspaceId | undefined
}

/** The number of PENDING deliveries that a page reads to find workspaces with a backlog. */
const pageSize = 500

/**
 * Finds workspaces with PENDING deliveries that a drain can take: no job has claimed the drain, the workspace is not
 * suspended, and the webhook is not paused. Includes those of disabled webhooks, which the drain marks as FAILED.
 *
 * A page reads the next PENDING deliveries in the index to find workspaces, and then one delivery of each webhook of these
 * workspaces, 8 µs per webhook. The next page skips the remaining deliveries of its last workspace. So workspaces without a
 * backlog cost nothing, and a long backlog costs as much as a page. A recursive CTE could skip from workspace to workspace,
 * but not over several servers. Neither may a sub-select refer to a query level that reads only CTEs: the sub-select of
 * deliveries refers to `webhooks`.
 */
export async function findBacklogs(db: Db, after = lowestId): Promise<BacklogPage> {
  const rows = await transaction(db, (db) => findPage(db, { after, now: new Date() }), indexScanSettings)
  const workspaceIds = rows.filter((row) => row.isClaimable).map((row) => row.workspaceId)
  const lastRow = rows.at(-1)
  return { workspaceIds, last: lastRow?.isFullPage ? lastRow.workspaceId : undefined }
}

const lowestId = idOf('wsp', nilUuid)

/**
 * A condition on a webhook `w` with its `health`: it has PENDING deliveries, and is not paused or is disabled.
 *
 * The sub-select is not an EXISTS, which PostgreSQL might turn into a join that reads all PENDING deliveries. Its ORDER BY
 * is that of `deliveries_pending_index`: in the index of the primary key, PostgreSQL would read ended deliveries.
 */
const hasClaimableDelivery = (now: SQLWrapper) => sql`
  (not w.enabled or paused_until is null or paused_until <= ${now})
  and (
    select true from deliveries d
    where d.workspace_id = w.workspace_id and d.webhook_id = w.id and d.status = 'PENDING'
    order by d.created_at, d.id limit 1)`

const joinedHealth = sql`
  left join webhook_health health on health.workspace_id = w.workspace_id and health.webhook_id = w.id`

/** A condition: a webhook of the workspace has deliveries that a drain can take. */
export const hasBacklog = (workspaceId: SQLWrapper, now: SQLWrapper) => sql`
  coalesce((
    select true from webhooks w ${joinedHealth}
    where w.workspace_id = ${workspaceId} and ${hasClaimableDelivery(now)}
    limit 1), false)`

const findPage = namedStatement('find backlogs', {
  isPrepared: true,
  params: { after: deliveries.workspaceId, now: timestamptz },
  columns: { workspaceId: deliveries.workspaceId, isClaimable: bool, isFullPage: bool },
  sql: ({ after, now }) => sql`
    with pending as materialized (
      select workspace_id from deliveries
      where status = 'PENDING' and workspace_id > ${after}
      order by workspace_id, webhook_id, created_at, id limit ${pageSize}::int),
    backlog as materialized (select distinct workspace_id from pending),
    claimable as materialized (
      select w.workspace_id, bool_or(${hasClaimableDelivery(now)}) as has_backlog
      from backlog join webhooks w on w.workspace_id = backlog.workspace_id ${joinedHealth}
      left join work on work.workspace_id = w.workspace_id and work.id = ${drainId}::uuid
      where work.token is null and ${not(isInSuspendedWorkspace(sql`w.workspace_id`))}
      group by w.workspace_id)
    select workspace_id, coalesce(has_backlog, false) as is_claimable,
      (select count(*) from pending) = ${pageSize}::int as is_full_page
    from backlog left join claimable using (workspace_id) order by workspace_id`,
})
