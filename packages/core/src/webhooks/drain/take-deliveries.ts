/** Takes deliveries for a drain: which ones, and how many of each webhook. */
import { not, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { deliveries, events, webhooks } from '../../db/schema/index.ts'
import { arrayOf, bool, int, nullable, text, timestamptz, uuid } from '../../db/statements/sql-types.ts'
import { type EventId, type WebhookId, type WorkspaceId } from '../../kernel/ids.ts'
import { isInStoppedWorkspace } from '../../request/workspace-state.ts'
import { renewClaim } from '../../work/claims.ts'
import { drainId } from '../../work/queues.ts'
import { serializeEvent } from '../signature.ts'
import { isDrainable } from './find-backlogs.ts'
import type { Receiver } from './signed-delivery.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'

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
    workspaceId,
    token,
    now: timestampNow(),
    inFlight,
    total: Math.max(0, limits.total),
    slow: Math.max(0, limits.slow),
    webhookIds: limits.webhooks.map(({ webhookId }) => webhookId),
    concurrencies: limits.webhooks.map(({ concurrency }) => concurrency),
    counts: limits.webhooks.map((webhook) => webhook.inFlight),
    areSlow: limits.webhooks.map(({ isSlow }) => isSlow),
  })
  const { hasMore = false, hasAbandoned = false } = rows[0] ?? {}
  return { deliveries: rows.filter((row): row is TakenRow => row.id !== null).map(toTaken), hasMore, hasAbandoned }
}

/**
 * Deals the capacity round robin: each webhook that has work gets one request before any gets a second. `place` counts
 * those of a webhook, in flight included. Returns a row for each delivery, or one without a delivery.
 *
 * Trap: a statement that locks rows of `deliveries` must not prune partitions by a parameter, such as a range of ids.
 * PostgreSQL 18.4 crashes if such a statement waits for a row that is being changed.
 */
const take = namedStatement('take deliveries', {
  isPrepared: true,
  params: {
    workspaceId: deliveries.workspaceId,
    token: uuid,
    now: timestamptz,
    inFlight: arrayOf(uuid),
    total: int,
    slow: int,
    webhookIds: arrayOf(webhooks.id),
    concurrencies: arrayOf(int),
    counts: arrayOf(int),
    areSlow: arrayOf(bool),
  },
  columns: {
    /** Null in a row without a delivery. There, only the last two columns have values. */
    id: nullable(uuid),
    webhookId: webhooks.id,
    unreachableCount: int,
    url: webhooks.url,
    encryptedSecret: webhooks.encryptedSecret,
    formerSecrets: webhooks.formerSecrets,
    eventId: deliveries.eventId,
    /** These three are null if there is no such event. */
    type: nullable(events.type),
    data: nullable(text),
    timestamp: nullable(events.createdAt),
    requestId: deliveries.requestId,
    traceparent: deliveries.traceparent,
    hasMore: bool,
    hasAbandoned: bool,
  },
  sql: (param) => sql`
    with known as materialized (
      select * from unnest(${param.webhookIds}, ${param.concurrencies}, ${param.counts},
        ${param.areSlow}) as known (webhook_id, concurrency, count, is_slow)),
    webhook as materialized (
      select w.id, w.enabled, coalesce(unreachable_count, 0) as unreachable_count, coalesce(count, 0) as count,
        coalesce(is_slow, false) or coalesce(unreachable_count, 0) > 0 as is_slow,
        case when unreachable_count > 0 then 1 else coalesce(concurrency, 1) end - coalesce(count, 0) as free
      from webhooks w
      left join webhook_health health on health.workspace_id = w.workspace_id and health.webhook_id = w.id
      left join known on known.webhook_id = w.id
      where w.workspace_id = ${param.workspaceId}
        and ${isDrainable(param.now)}
        and ${not(isInStoppedWorkspace(param.workspaceId))}),
    waiting as (
      select webhook.id as webhook_id, is_slow, unreachable_count, oldest.*,
        count + row_number() over (partition by webhook.id order by created_at, oldest.id) as place
      from webhook cross join lateral (
        select id, event_id, request_id, traceparent, created_at from deliveries
        where workspace_id = ${param.workspaceId} and webhook_id = webhook.id and status = 'PENDING'
          and id <> all(${param.inFlight})
        order by created_at, id limit greatest(0, webhook.free)) oldest
      where webhook.enabled),
    ranked as materialized (
      select *, row_number() over (partition by is_slow order by place, created_at, id) as rank from waiting),
    dealt as materialized (
      select * from ranked where not is_slow or rank <= ${param.slow}
      order by place, created_at, id limit ${param.total}),
    receiver as materialized (
      select id, url, encrypted_secret, former_secrets from webhooks
      where workspace_id = ${param.workspaceId} and id = any(array(select webhook_id from dealt)) and enabled
      order by id for share),
    taken as materialized (
      select dealt.*, url, encrypted_secret, former_secrets from dealt join receiver on receiver.id = webhook_id),
    in_flight as materialized (
      select ${param.inFlight} || array(select id from taken) as ids),
    renewed as (
      update work set ${renewClaim(param.token)}, claimed_at = ${param.now}, in_flight = ids
      from in_flight
      where workspace_id = ${param.workspaceId} and id = ${drainId}::uuid and ids <> '{}'),
    ended as (
      delete from work using in_flight
      where workspace_id = ${param.workspaceId} and id = ${drainId}::uuid and ids = '{}'),
    abandoned as (
      select coalesce(bool_or((
        select true from deliveries d
        where d.workspace_id = ${param.workspaceId} and d.webhook_id = webhook.id and d.status = 'PENDING'
          and d.id <> all(${param.inFlight})
        order by d.created_at, d.id limit 1)), false) as has_abandoned
      from webhook where not enabled)
    select taken.id, webhook_id, unreachable_count, url, encrypted_secret, former_secrets, event_id, request_id, traceparent,
      event.*, has_abandoned, (select count(*) from ranked) > (select count(*) from taken) as has_more
    from abandoned left join taken on true
    left join lateral (
      select type, data::text, created_at as timestamp from events
      where workspace_id = ${param.workspaceId} and id = taken.event_id limit 1) event on true
    order by place, taken.created_at, taken.id`,
})

type TakenRow = Awaited<ReturnType<typeof take>>[number] & { id: string }

function toTaken({ id, webhookId, eventId, type, data, timestamp, ...row }: TakenRow): TakenDelivery {
  const { url, encryptedSecret, formerSecrets, requestId, traceparent, unreachableCount } = row
  const isDeleted = type === null || data === null || timestamp === null
  return {
    uuid: id,
    webhookId,
    receiver: { url, encryptedSecret, formerSecrets },
    eventId,
    body: isDeleted ? undefined : serializeEvent({ id: eventId, type, timestamp, data }),
    requestId,
    traceparent,
    unreachableCount,
  }
}
