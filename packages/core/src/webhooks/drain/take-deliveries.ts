/** Takes deliveries for a drain: which ones, and how many of each webhook. */
import { not, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { preparedSql } from '../../db/prepared-query.ts'
import { type EventId, idOf, uuidOf, type WebhookId, type WorkspaceId } from '../../kernel/ids.ts'
import { isInSuspendedWorkspace } from '../../request/suspended-workspace.ts'
import { drainId } from '../../work/queues.ts'
import { serializeEvent } from '../signature.ts'
import type { Receiver } from './signed-delivery.ts'

export interface TakenDelivery {
  uuid: string
  webhookId: WebhookId
  receiver: Receiver
  eventId: EventId
  /** The exact text to sign and to send. Undefined if the event was deleted, which no foreign key prevents. */
  body: string | undefined
  requestId: string | null
  traceparent: string | null
  /** See `KnownReceiver`. */
  unreachableCount: number
}

/** How many deliveries a take may take. */
export interface TakeLimits {
  /** Of all webhooks. */
  total: number
  /** Of webhooks that are slow or do not respond. */
  slow: number
  /** What the worker knows of webhooks. Others may have one request in flight. */
  webhooks: readonly WebhookLimits[]
}

export interface WebhookLimits {
  webhookId: WebhookId
  inFlight: number
  /** The maximum number of requests in flight. If its last attempts had no response, the maximum is one. */
  concurrency: number
  isSlow: boolean
}

interface Taken {
  deliveries: TakenDelivery[]
  hasMore: boolean
  /** Whether webhooks that are disabled or deleted have PENDING deliveries. */
  hasAbandoned: boolean
}

/** Call it in a transaction that has locked the claim. Renews the claim, or ends it if then nothing is in flight. */
export async function takeDeliveries(
  db: Db,
  { workspaceId }: { workspaceId: WorkspaceId },
  { token, inFlight, limits }: { token: string; inFlight: readonly string[]; limits: TakeLimits },
): Promise<Taken> {
  const rows = await take(db, {
    workspaceId: uuidOf(workspaceId),
    token,
    now: new Date(),
    inFlight: [...inFlight],
    total: Math.max(0, limits.total),
    slow: Math.max(0, limits.slow),
    webhookIds: limits.webhooks.map(({ webhookId }) => uuidOf(webhookId)),
    concurrencies: limits.webhooks.map(({ concurrency }) => concurrency),
    counts: limits.webhooks.map((webhook) => webhook.inFlight),
    areSlow: limits.webhooks.map(({ isSlow }) => isSlow),
  })
  const { has_more: hasMore = false, has_abandoned: hasAbandoned = false } = rows[0] ?? {}
  return { deliveries: rows.filter((row): row is TakenRow => row.id !== null).map(toTaken), hasMore, hasAbandoned }
}

interface TakeParams extends Record<string, unknown> {
  workspaceId: string
  token: string
  now: Date
  inFlight: string[]
  total: number
  slow: number
  webhookIds: string[]
  concurrencies: number[]
  counts: number[]
  areSlow: boolean[]
}

interface StepRow {
  has_more: boolean
  has_abandoned: boolean
}

interface TakenRow extends StepRow {
  id: string
  webhook_id: string
  unreachable_count: number
  url: string
  encrypted_secret: string
  former_secrets: Receiver['formerSecrets']
  event_id: string
  type: string | null
  data: string
  timestamp: string
  request_id: string | null
  traceparent: string | null
}

/**
 * Deals the places round robin: each webhook that has work gets one before any gets a second. `place` counts those that a
 * webhook has, those in flight included. Returns a row for each delivery, or one without a delivery.
 *
 * Trap: a statement that locks rows of `deliveries` must not prune partitions by a parameter, such as a range of ids.
 * PostgreSQL 18.4 crashes if such a statement waits for a row that is being changed.
 */
const take = preparedSql<TakeParams, (StepRow & { id: null }) | TakenRow>(
  'take deliveries',
  (param) => sql`
    with known as materialized (
      select * from unnest(${param('webhookIds')}::uuid[], ${param('concurrencies')}::int[], ${param('counts')}::int[],
        ${param('areSlow')}::bool[]) as known (webhook_id, concurrency, count, is_slow)),
    webhook as materialized (
      select w.id, w.enabled, coalesce(unreachable_count, 0) as unreachable_count, coalesce(count, 0) as count,
        coalesce(is_slow, false) or coalesce(unreachable_count, 0) > 0 as is_slow,
        case when unreachable_count > 0 then 1 else coalesce(concurrency, 1) end - coalesce(count, 0) as free
      from webhooks w
      left join webhook_drains health on health.workspace_id = w.workspace_id and health.webhook_id = w.id
      left join known on known.webhook_id = w.id
      where w.workspace_id = ${param('workspaceId')}::uuid
        and (not w.enabled or paused_until is null or paused_until <= ${param('now')}::timestamptz)
        and ${not(isInSuspendedWorkspace(sql`${param('workspaceId')}::uuid`))}),
    waiting as (
      select webhook.id as webhook_id, is_slow, unreachable_count, oldest.*,
        count + row_number() over (partition by webhook.id order by created_at, oldest.id) as place
      from webhook cross join lateral (
        select id, event_id, request_id, traceparent, created_at from deliveries
        where workspace_id = ${param('workspaceId')}::uuid and webhook_id = webhook.id and status = 'PENDING'
          and id <> all(${param('inFlight')}::uuid[])
        order by created_at, id limit greatest(0, webhook.free)) oldest
      where webhook.enabled),
    ranked as materialized (
      select *, row_number() over (partition by is_slow order by place, created_at, id) as rank from waiting),
    dealt as materialized (
      select * from ranked where not is_slow or rank <= ${param('slow')}::int
      order by place, created_at, id limit ${param('total')}::int),
    receiver as materialized (
      select id, url, encrypted_secret, former_secrets from webhooks
      where workspace_id = ${param('workspaceId')}::uuid and id = any(array(select webhook_id from dealt)) and enabled
      order by id for share),
    taken as materialized (
      select dealt.*, url, encrypted_secret, former_secrets from dealt join receiver on receiver.id = webhook_id),
    in_flight as materialized (
      select ${param('inFlight')}::uuid[] || array(select id from taken) as ids),
    renewed as (
      update work set token = ${param('token')}::uuid, claimed_at = ${param('now')}::timestamptz, in_flight = ids
      from in_flight
      where workspace_id = ${param('workspaceId')}::uuid and id = ${drainId}::uuid and ids <> '{}'),
    ended as (
      delete from work using in_flight
      where workspace_id = ${param('workspaceId')}::uuid and id = ${drainId}::uuid and ids = '{}'),
    abandoned as (
      select coalesce(bool_or((
        select true from deliveries d
        where d.workspace_id = ${param('workspaceId')}::uuid and d.webhook_id = webhook.id and d.status = 'PENDING'
          and d.id <> all(${param('inFlight')}::uuid[])
        order by d.created_at, d.id limit 1)), false) as has_abandoned
      from webhook where not enabled)
    select taken.*, event.*, has_abandoned, (select count(*) from ranked) > (select count(*) from taken) as has_more
    from abandoned left join taken on true
    left join lateral (
      select type, data::text, created_at as timestamp from events
      where workspace_id = ${param('workspaceId')}::uuid and id = taken.event_id limit 1) event on true
    order by place, taken.created_at, taken.id`,
)

function toTaken({ id, webhook_id, event_id, type, data, timestamp, ...row }: TakenRow): TakenDelivery {
  const eventId = idOf('evt', event_id)
  const event = { id: eventId, timestamp: new Date(timestamp).toISOString(), data }
  return {
    uuid: id,
    webhookId: idOf('whk', webhook_id),
    receiver: { url: row.url, encryptedSecret: row.encrypted_secret, formerSecrets: row.former_secrets },
    eventId,
    body: type === null ? undefined : serializeEvent({ ...event, type }),
    requestId: row.request_id,
    traceparent: row.traceparent,
    unreachableCount: row.unreachable_count,
  }
}
