/** What is to be done over the whole installation, and who does it: for the people who run it, asked of PostgreSQL alone. */
import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { type CampaignId, idOf, type WorkspaceId } from '../kernel/ids.ts'
import { type QueueName, queueNames } from '../jobs/queues.ts'
import { campaignStatuses } from '../db/schema/index.ts'
import { deliveryStates } from '../webhooks/deliveries.schema.ts'
import { listWorkers, type WorkerState } from '../jobs/worker-registry.ts'

export interface QueueState {
  queue: QueueName
  /** In the outbox, and not with the queue yet: for a moment, or until there is room in its lane. */
  waiting: number
  /** With the queue, and not done. */
  handedOver: number
  /** In the hands of a worker; null where nothing is claimed. */
  active: number | null
  /** Failed or interrupted within the last hour; null where nothing is recorded. */
  failed: number | null
  /** How long the oldest that is not done has been there; null when there is nothing to do. */
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
  /** For how long work has waited to be handed over though nothing holds it back; null when none has. */
  outboxLagSeconds: number | null
  workers: WorkerState[]
  /** Of the last hour's events, by status. */
  deliveries: Record<string, number>
  campaigns: Record<string, number>
  /** SENDING and PAUSED ones, the first twenty. */
  campaignsUnderWay: CampaignState[]
}

/** Every figure at about the same instant. */
export async function readWorkSummary(db: Db): Promise<WorkSummary> {
  const [queues, outboxLagSeconds, workers, deliveries, campaigns, campaignsUnderWay] = await Promise.all([
    readQueues(db),
    readOutboxLag(db),
    listWorkers(db),
    countDeliveries(db),
    countCampaigns(db),
    listCampaignsUnderWay(db),
  ])
  return { queues, outboxLagSeconds, workers, deliveries, campaigns, campaignsUnderWay }
}

/** In seconds; null of nothing, which `greatest` would make a zero. */
const ageOf = (moment: string) =>
  sql.raw(`case when ${moment} is not null then greatest(0, extract(epoch from now() - ${moment}))::float8 end`)
const inTheLastHour = sql`created_at > now() - interval '1 hour'`
const hasFailed = sql`status in ('FAILED', 'INTERRUPTED')`

/** Claims have an index on just these rows; failures are looked for among what is new. */
async function readQueues(db: Db): Promise<QueueState[]> {
  const result = await db.execute<Record<Exclude<keyof QueueState, 'queue'>, number | null> & { queue: QueueName }>(sql`
    with due as (
      select queue, count(*) filter (where relayed_epoch is null)::int as waiting,
        count(*) filter (where relayed_epoch is not null)::int as handed_over, min(created_at) as oldest
      from outbox group by queue),
    claimed (queue, active) as (values
      ('webhooks', (select count(*) from deliveries where status = 'SENDING')),
      ('campaigns', (select count(*) from campaign_batches where status = 'SENDING')),
      ('mail', (select count(*) from mails where status = 'SENDING')),
      ('imports', (select count(*) from imports where status = 'RUNNING'))),
    failures (queue, failed) as (values
      ('webhooks', (
        select count(*) from (select workspace_id, id from events where ${inTheLastHour}) e
        join deliveries d on d.workspace_id = e.workspace_id and d.event_id = e.id where ${hasFailed})),
      ('campaigns', (
        select coalesce(sum(b.failed + b.interrupted), 0) from campaigns c
        join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
        where c.status in ('SENDING', 'PAUSED') or c.sent_at > now() - interval '1 hour')),
      ('mail', (select count(*) from mails where ${inTheLastHour} and ${hasFailed})),
      ('imports', (select count(*) from imports where ${inTheLastHour} and status = 'FAILED')))
    select name as queue, coalesce(waiting, 0) as waiting, coalesce(handed_over, 0) as "handedOver",
      active::int, failed::int, ${ageOf('oldest')} as "oldestSeconds"
    from unnest(${sql.param([...queueNames])}::text[]) with ordinality as known (name, place)
    left join due on due.queue = name left join claimed on claimed.queue = name left join failures on failures.queue = name
    order by place`)
  return result.rows as unknown as QueueState[]
}

/** A lane that is full, or whose workspace has enough in hand, holds its work back with good reason. */
async function readOutboxLag(db: Db): Promise<number | null> {
  const result = await db.execute<{ lag: number | null }>(sql`
    select ${ageOf('min(o.created_at)')} as lag from outbox o
    where o.relayed_epoch is null and (o.lane is null or not exists (
      select from outbox busy
      where busy.workspace_id = o.workspace_id and busy.lane is not null and busy.relayed_epoch is not null))`)
  return result.rows[0]?.lag ?? null
}

async function countDeliveries(db: Db): Promise<Record<string, number>> {
  const result = await db.execute<{ status: string; count: number }>(sql`
    select case status when 'SENDING' then 'PENDING' else status end as status, count(*)::int as count
    from (select workspace_id, id from events where ${inTheLastHour}) e
    join deliveries d on d.workspace_id = e.workspace_id and d.event_id = e.id group by 1`)
  return byStatus(deliveryStates, result.rows)
}

async function countCampaigns(db: Db): Promise<Record<string, number>> {
  const result = await db.execute<{ status: string; count: number }>(sql`
    select status, count(*)::int as count from campaigns group by status`)
  return byStatus(campaignStatuses, result.rows)
}

function byStatus(statuses: readonly string[], rows: readonly { status: string; count: number }[]) {
  return Object.fromEntries(
    statuses.map((status) => [status, rows.find((row) => row.status === status)?.count ?? 0] as const),
  )
}

async function listCampaignsUnderWay(db: Db): Promise<CampaignState[]> {
  const result = await db.execute<Record<string, string> & { queued: number; pending: number }>(sql`
    select c.workspace_id, c.id, c.name, c.status, c.queued, c.pause_reason,
      (c.queued - coalesce(sum(b.sent + b.failed + b.skipped + b.interrupted), 0))::int as pending
    from campaigns c left join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
    where c.status in ('SENDING', 'PAUSED')
    group by c.workspace_id, c.id order by c.sent_at, c.id limit 20`)
  return result.rows.map(({ workspace_id = '', id = '', name = '', status = '', queued, pending, ...row }) => ({
    id: idOf('cmp', id),
    workspaceId: idOf('wsp', workspace_id),
    name,
    status,
    queued,
    pending,
    pauseReason: row['pause_reason'] ?? null,
  }))
}
