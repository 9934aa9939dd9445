import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { preparedSql } from '../../db/prepared-query.ts'
import { transaction } from '../../db/transaction.ts'
import { idOf, uuidOf, type WebhookId, type WorkspaceId } from '../../kernel/ids.ts'
import { indexScanSettings } from './index-scan-settings.ts'

export interface BacklogKey {
  workspaceId: WorkspaceId
  webhookId: WebhookId
}

export interface BacklogPage {
  /** The webhooks whose backlog a job can claim. */
  backlogs: BacklogKey[]
  /** The last workspace of this page: pass it as `after` to get the next page. Undefined on the last page. */
  last: WorkspaceId | undefined
}

/** The number of PENDING deliveries that a page reads to find workspaces with a backlog. */
const pageSize = 500
/** The maximum number of claimed webhooks and new jobs per workspace. */
const maxJobsPerWorkspace = 20
/**
 * The maximum number of new jobs per page for unreachable receivers: each job may wait for a timeout of ten seconds.
 */
const maxUnreachableJobs = 10

/**
 * Finds webhooks with PENDING deliveries that no job owns, that are not paused and whose workspace is not suspended.
 * Returns a page in the order of their keys.
 *
 * A page reads the next PENDING deliveries in the index to find workspaces, and then one delivery of each webhook of
 * these workspaces, 8 µs per webhook. The next page skips the remaining deliveries of its last workspace. So webhooks of
 * workspaces without a backlog cost nothing, and a long backlog costs as much as a page. A recursive CTE could skip
 * from webhook to webhook, but not over several servers.
 */
export async function findBacklogs(db: Db, after?: WorkspaceId): Promise<BacklogPage> {
  const start = after === undefined ? nil : uuidOf(after)
  const rows = await transaction(db, (db) => findPage(db, { after: start, now: new Date() }), indexScanSettings)
  const backlogs = rows.filter((row) => row.is_claimable).map(toKey)
  const lastRow = rows.at(-1)
  return { backlogs, last: lastRow?.is_full_page ? toKey(lastRow).workspaceId : undefined }
}

const nil = '00000000-0000-0000-0000-000000000000'

interface PageRow {
  workspace_id: string
  webhook_id: string
  is_claimable: boolean
  is_full_page: boolean
}

const toKey = ({ workspace_id, webhook_id }: PageRow): BacklogKey => ({
  workspaceId: idOf('wsp', workspace_id),
  webhookId: idOf('whk', webhook_id),
})

/**
 * Ranks the webhooks of each workspace: claimed webhooks first, because `maxJobsPerWorkspace` includes them, then the
 * least recently served webhooks, so that all of them are served in turn. Unreachable receivers are ranked separately,
 * and once more across workspaces for `maxUnreachableJobs`: the receiver whose pause ended first comes first.
 *
 * The sub-select is not an EXISTS, which PostgreSQL might turn into a join that reads all PENDING deliveries. Its ORDER
 * BY is that of `deliveries_pending_index`: in the index of the primary key, PostgreSQL would read ended deliveries, too.
 */
const findPage = preparedSql<{ after: string; now: Date }, PageRow>(
  'find backlogs',
  (param) => sql`
    with pending as materialized (
      select workspace_id from deliveries
      where status = 'PENDING' and workspace_id > ${param('after')}::uuid
      order by workspace_id, webhook_id, created_at, id limit ${pageSize}::int),
    page as materialized (
      select w.workspace_id, w.id as webhook_id, token is not null as is_claimed,
        coalesce(unreachable_count, 0) > 0 as is_unreachable,
        coalesce(paused_until > ${param('now')}::timestamptz, false) as is_paused, paused_until, taken_at,
        workspaces.suspended_at is not null as is_suspended
      from (select distinct workspace_id from pending) backlog
      join webhooks w on w.workspace_id = backlog.workspace_id
      join workspaces on workspaces.id = w.workspace_id
      left join webhook_drains drain on drain.workspace_id = w.workspace_id and drain.webhook_id = w.id
      where (
        select true from deliveries d
        where d.workspace_id = w.workspace_id and d.webhook_id = w.id and d.status = 'PENDING'
        order by d.created_at, d.id limit 1)),
    ranked as (
      select *,
        row_number() over (partition by workspace_id, is_unreachable
          order by is_claimed desc, is_paused, taken_at nulls first, webhook_id) as workspace_rank,
        row_number() over (partition by is_unreachable order by is_claimed or is_paused, paused_until nulls first, taken_at nulls first) as unreachable_rank
      from page)
    select workspace_id, webhook_id,
      not is_claimed and not is_paused and not is_suspended and workspace_rank <= ${maxJobsPerWorkspace}::int
        and (not is_unreachable or unreachable_rank <= ${maxUnreachableJobs}::int) as is_claimable,
      (select count(*) from pending) = ${pageSize}::int as is_full_page
    from ranked order by workspace_id, webhook_id`,
)
