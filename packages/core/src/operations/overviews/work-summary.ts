/** A summary of the work and workers of the installation for operators. Reads PostgreSQL only. */
import { count, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { arrayOf, bigint, float, int, nullable, text, textOf, uuid } from '../../db/statements/sql-types.ts'
import { type CampaignId, uuidAt, type WorkspaceId } from '../../kernel/ids.ts'
import { isAmongStoppedWorkspaces } from '../../request/workspace-state.ts'
import { type QueueName, queueNames } from '../../work/queues.ts'
import { isNoDrain, isStuckIfOld, kindsOfWork, workKinds } from '../../work/kinds.ts'
import { campaigns, campaignStatuses, deliveries, deliveryStatuses } from '../../db/schema/index.ts'
import { listWorkers, type WorkerState } from '../../work/worker-registry.ts'
import { readWorkLag } from './work-lag.ts'

export interface QueueState {
  queue: QueueName
  /** Not published to the queue: rows of `work`, and PENDING deliveries that are not in flight. */
  waiting: number
  /** Published to the queue and not done. */
  published: number
  /** Claimed by a worker. */
  active: number
  /**
   * Failed or interrupted work that was created within the last hour; null for queues without recorded outcomes. For
   * campaigns: recipients of campaigns that are SENDING or PAUSED or were sent within the last hour.
   */
  failed: number | null
  /**
   * Age of the oldest pending work; null if there is none but that of suspended or deleted workspaces, and emails to one
   * person.
   */
  oldestSeconds: number | null
}

export interface CampaignState {
  id: CampaignId
  workspaceId: WorkspaceId
  name: string
  status: string
  queued: number
  pending: number
  pauseReason: string | null
}

export interface WorkSummary {
  queues: QueueState[]
  /** See `readWorkLag`. */
  workLagSeconds: number | null
  workers: WorkerState[]
  /** Deliveries of the last hour, by status. */
  deliveries: Record<string, number>
  campaigns: Record<string, number>
  /** The first twenty SENDING and PAUSED campaigns. */
  campaignsUnderWay: CampaignState[]
}

/** Runs the queries concurrently, so that the figures describe about the same time. */
export async function readWorkSummary(db: Db): Promise<WorkSummary> {
  const [queues, workLagSeconds, workers, deliveries, campaigns, campaignsUnderWay] = await Promise.all([
    readQueues(db, { queues: queueNames, firstOfLastHour: getFirstUuidOfLastHour() }),
    readWorkLag(db),
    listWorkers(db),
    countDeliveries(db),
    countCampaigns(db),
    listCampaignsUnderWay(db),
  ])
  return { queues, workLagSeconds, workers, deliveries, campaigns, campaignsUnderWay }
}

/** Null if the column is null: `greatest` alone would return zero. */
const toAgeSeconds = (moment: string) =>
  sql.raw(`case when ${moment} is not null then greatest(0, extract(epoch from now() - ${moment}))::float8 end`)
const isFromLastHour = sql`created_at > now() - interval '1 hour'`
/** Delivery ids contain their creation time, and the primary key orders the deliveries of each webhook by id. */
const getFirstUuidOfLastHour = () => uuidAt(Date.now() - 3_600_000)
const hasFailed = sql`status in ('FAILED', 'INTERRUPTED')`

/** The queue of a row of `work`. */
export const queueOfWork = sql`(${JSON.stringify(Object.fromEntries(workKinds.map((kind) => [kind, kindsOfWork[kind].queue])))}::json ->> kind)`

/** Failures are searched among recent rows only. */
const readQueues = namedStatement('summarize the queues', {
  params: { queues: arrayOf(text), firstOfLastHour: uuid },
  columns: {
    queue: textOf<QueueName>(),
    waiting: int,
    published: int,
    active: int,
    failed: nullable(int),
    oldestSeconds: nullable(float),
  },
  sql: ({ queues, firstOfLastHour }) => sql`
    with rows as (
      select ${queueOfWork} as queue, published_at, case when ${isStuckIfOld} then created_at end as created_at, token
      from work where ${isNoDrain}),
    enqueued as materialized (
      select queue, count(*) filter (where published_at is null)::int as waiting,
        count(*) filter (where published_at is not null)::int as published, count(token)::int as active,
        min(created_at) as oldest
      from rows group by queue),
    pending as materialized (
      select count(*) as count, min(created_at) filter (where not (${isAmongStoppedWorkspaces})) as oldest
      from deliveries where status = 'PENDING'),
    in_flight as materialized (
      select coalesce(sum(cardinality(in_flight)), 0) as count from work where worker_id is not null),
    due as (
      select * from enqueued union all
      select 'webhooks', greatest(0, pending.count - in_flight.count)::int, 0, in_flight.count::int, oldest
      from pending, in_flight),
    failed_deliveries as materialized (
      select count(*) from webhooks w
      join deliveries d on d.workspace_id = w.workspace_id and d.webhook_id = w.id
      where d.id > ${firstOfLastHour} and ${hasFailed}),
    failed_recipients as materialized (
      select coalesce(sum(b.failed + b.interrupted), 0) as count from campaigns c
      join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
      where c.status in ('SENDING', 'PAUSED') or c.sent_at > now() - interval '1 hour'),
    failed_mails as materialized (select count(*) from mails where ${isFromLastHour} and ${hasFailed}),
    failed_imports as materialized (select count(*) from imports where ${isFromLastHour} and status = 'FAILED'),
    failures (queue, failed) as (
      select 'webhooks', count from failed_deliveries union all select 'campaigns', count from failed_recipients
      union all select 'mail', count from failed_mails union all select 'imports', count from failed_imports)
    select name as queue, coalesce(waiting, 0) as waiting, coalesce(published, 0) as published,
      coalesce(active, 0) as active, failed::int, ${toAgeSeconds('oldest')} as oldest_seconds
    from unnest(${queues}) with ordinality as known (name, place)
    left join due on due.queue = name left join failures on failures.queue = name
    order by place`,
})

async function countDeliveries(db: Db): Promise<Record<string, number>> {
  const counts = await countDeliveriesSince(db, { firstUuid: getFirstUuidOfLastHour() })
  return toCountsByStatus(deliveryStatuses, counts)
}

const countDeliveriesSince = namedStatement('count deliveries', {
  params: { firstUuid: uuid },
  columns: { status: deliveries.status, count: bigint },
  sql: ({ firstUuid }) => sql`
    select d.status, count(*) as count
    from webhooks w join deliveries d on d.workspace_id = w.workspace_id and d.webhook_id = w.id
    where d.id > ${firstUuid} group by 1`,
})

async function countCampaigns(db: Db): Promise<Record<string, number>> {
  const { status } = campaigns
  return toCountsByStatus(campaignStatuses, await db.select({ status, count: count() }).from(campaigns).groupBy(status))
}

function toCountsByStatus(statuses: readonly string[], rows: readonly { status: string; count: number }[]) {
  return Object.fromEntries(
    statuses.map((status) => [status, rows.find((row) => row.status === status)?.count ?? 0] as const),
  )
}

const listCampaignsUnderWay = namedStatement('list campaigns under way', {
  columns: {
    workspaceId: campaigns.workspaceId,
    id: campaigns.id,
    name: campaigns.name,
    status: campaigns.status,
    queued: campaigns.queued,
    pauseReason: campaigns.pauseReason,
    pending: int,
  },
  sql: () => sql`
    select c.workspace_id, c.id, c.name, c.status, c.queued, c.pause_reason,
      (c.queued - coalesce(sum(b.sent + b.failed + b.skipped + b.interrupted), 0))::int as pending
    from campaigns c left join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
    where c.status in ('SENDING', 'PAUSED')
    group by c.workspace_id, c.id order by c.sent_at, c.id limit 20`,
})
