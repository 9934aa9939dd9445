import { not, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { webhookHealth } from '../../db/schema/index.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { float } from '../../db/statements/sql-types.ts'
import { isAmongStoppedWorkspaces, isInStoppedWorkspace } from '../../request/workspace-state.ts'
import { isNoDrain, waitsForResume } from '../../work/kinds.ts'
import { isNotPaused } from '../../webhooks/drain/find-backlogs.ts'
import { drainId } from '../../work/queues.ts'

/**
 * Returns the seconds for which the oldest work has waited for a worker, although a job could do it; null if none waits.
 * More than a few seconds mean that no worker reaches the queue. Excludes what waits for another reason: a suspended
 * or deleted workspace, the published jobs of the same workspace, or the receiver of a webhook.
 */
export async function readWorkLag(db: Db): Promise<number | null> {
  const [row] = await selectLag(db)
  return row?.lag ?? null
}

/** The poll publishes unclaimed work again every ten seconds. If it did not, no job was added. */
const isOverdue = (work: 'o' | 'p') =>
  sql.raw(
    `${work}.token is null and ${work}.due_at <= now() and (${work}.published_at is null or ${work}.published_at <= now() - interval '30 seconds')`,
  )

/**
 * Deliveries have no row of `work` until a job claims their drain. They wait since the last attempt or pause of their
 * webhook, because a long backlog also has old deliveries while it is drained. Reads all PENDING deliveries: a look at
 * each webhook takes longer, and also without a backlog. Mails of visitors have none until
 * they are released; those that a budget withholds do not count.
 */
const selectLag = namedStatement('read the work lag', {
  columns: { lag: float },
  sql: () => sql`
    with waiting as (
      select due_at as since from work o
      where ${isOverdue('o')} and ${isNoDrain} and not (${waitsForResume}) and not exists (
        select from work p
        where p.kind = o.kind and p.workspace_id = o.workspace_id and p.published_at <= now() and not (${isOverdue('p')}))
      union all
      select greatest(created_at, released_at) from visitor_mails
      where status = 'WAITING' and created_at < now() - interval '30 seconds' and not (${isAmongStoppedWorkspaces})
      union all
      select greatest(oldest, paused_until, last_success_at, last_failure_at) from (
        select workspace_id, webhook_id, min(created_at) as oldest from deliveries where status = 'PENDING' group by 1, 2) backlog
      join webhooks w on w.workspace_id = backlog.workspace_id and w.id = backlog.webhook_id
      left join ${webhookHealth} health on health.workspace_id = w.workspace_id and health.webhook_id = w.id
      left join work drain on drain.workspace_id = w.workspace_id and drain.id = ${drainId}::uuid
      where w.enabled and ${isNotPaused(sql`now()`)} and drain.token is null
        and ${not(isInStoppedWorkspace(sql`w.workspace_id`))})
    select greatest(0, extract(epoch from now() - min(since)))::float8 as lag from waiting having count(*) > 0`,
})
