/**
 * The claim of a webhook's backlog. One job at a time drains the backlog: it takes the oldest PENDING deliveries and
 * attempts them; then, in one transaction, it records their outcomes and takes the next deliveries.
 *
 * - `webhook_drains.delivery_ids` contains the deliveries that may be in flight. A delivery itself is PENDING until its
 *   outcome is recorded. If the worker crashes, recovery marks the deliveries in `delivery_ids` as INTERRUPTED.
 * - Every take requires the token of the previous take and writes a new one. So the following take nothing: a
 *   second job of the webhook, a job whose claim recovery has released, and a statement that arrives after its retry.
 * - A take locks the row of `webhook_drains` before it reads, so it sees everything that the previous owner recorded.
 *   It locks the row of `webhooks` FOR SHARE: disabling and deleting wait for the take, and later takes see that
 *   change.
 * - A take reads all PENDING rows in the order of `created_at`. A cursor would miss an older delivery of a slow
 *   transaction that commits later.
 */
import { randomUUID } from 'node:crypto'
import { not, sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { preparedSql } from '../../db/prepared-query.ts'
import { transaction } from '../../db/transaction.ts'
import { type EventId, idOf, uuidOf } from '../../kernel/ids.ts'
import { isInSuspendedWorkspace } from '../../request/suspended-workspace.ts'
import { serializeEvent } from '../signature.ts'
import { failPendingDeliveries } from './abandoned-deliveries.ts'
import { limitAttempts } from './circuit-breaker.ts'
import { indexScanSettings } from './index-scan-settings.ts'
import { type Claim, type EndedDelivery, recordDeliveryOutcomes } from './record-outcomes.ts'
import {
  getConclusiveOutcomes,
  type ReceiverState,
  assignReceiverState,
  computeReceiverState,
} from './receiver-state.ts'
import type { Receiver } from './signed-delivery.ts'

/** The claim of one job. The functions of this file update it. */
export interface BacklogClaim extends Claim {
  /** The number of consecutive rounds without a response, see `circuit-breaker.ts`. */
  unreachableCount: number
  /** The first pause of an unreachable receiver. */
  firstPauseMs?: number
  /** The end of the last round with conclusive outcomes, see `getConclusiveOutcomes`. */
  assessedAt?: Date
}

export interface TakenDelivery {
  uuid: string
  eventId: EventId
  /** The exact text to sign and to send. Undefined if the event was deleted, which no foreign key prevents. */
  body: string | undefined
  requestId: string | null
  traceparent: string | null
}

/** If nothing was taken and nothing is in flight, the claim was released. */
export interface TakeResult {
  /** Undefined if the webhook is disabled or deleted. Then part of its backlog was marked as FAILED. */
  receiver: Receiver | undefined
  deliveries: TakenDelivery[]
  /** Whether the backlog may contain more deliveries. */
  hasMore: boolean
}

/**
 * Claims the backlog of a webhook and takes up to `limit` of its oldest deliveries. Returns `empty` if the backlog is
 * empty, and `unclaimable` if another job owns it, if the webhook is paused, if the workspace is suspended, or if its
 * receiver is unreachable and `admitUnreachable` returns false. After an error, the caller must call `releaseBacklog`,
 * because the claim may have been committed.
 */
export function claimBacklog(
  db: Db,
  claim: BacklogClaim,
  { limit, admitUnreachable }: { limit: number; admitUnreachable: () => boolean },
): Promise<TakeResult | 'empty' | 'unclaimable'> {
  return runWithNewToken(db, claim, async (db, token) => {
    const [backlog] = await findPending(db, toKeyParams(claim))
    if (!backlog) return 'empty'
    if (backlog.unreachable_count > 0 && !admitUnreachable()) return 'unclaimable'
    const [row] = await claimRow(db, { ...toKeyParams(claim), token, now: new Date() })
    if (!row) return 'unclaimable'
    claim.unreachableCount = row.unreachable_count
    return takeOldest(db, claim, { token, ended: [], inFlight: [], limit })
  })
}

/** One step of a drain: the outcomes to record and the deliveries to take. */
interface DrainStep {
  ended: readonly EndedDelivery[]
  /** The UUIDs of the deliveries whose requests are still running. */
  inFlight: readonly string[]
  /** The maximum number of deliveries to take. With 0 and nothing in flight, the claim is released. */
  limit: number
}

/**
 * Records outcomes and takes the next deliveries. Returns undefined if recovery has released the claim; the outcomes
 * are recorded nevertheless. Can be retried after an error.
 */
export function recordAndTakeNext(db: Db, claim: BacklogClaim, step: DrainStep): Promise<TakeResult | undefined> {
  return runWithNewToken(db, claim, async (db, token) => {
    const { isOwner, recorded } = await recordDeliveryOutcomes(db, claim, step.ended)
    return isOwner ? takeOldest(db, claim, { ...step, ended: recorded, token }) : undefined
  })
}

/** Releases a claim without deliveries in flight. */
export async function releaseBacklog(db: Db, claim: BacklogClaim): Promise<void> {
  await db.execute(sql`
    update webhook_drains set worker_id = null, token = null, delivery_ids = '{}'
    where workspace_id = ${uuidOf(claim.workspaceId)} and webhook_id = ${uuidOf(claim.webhookId)}
      and token = any(${sql.param(claim.tokens)}::uuid[])`)
}

/**
 * Runs a take with a new token. After an error, `claim.tokens` contains the former tokens and the new one, because the
 * transaction may have been committed or not.
 */
async function runWithNewToken<Result>(
  db: Db,
  claim: BacklogClaim,
  attempt: (db: Db, token: string) => Promise<Result>,
): Promise<Result> {
  const token = randomUUID()
  const work = (db: Db) => {
    claim.tokens = [...claim.tokens, token]
    return attempt(db, token)
  }
  const result = await transaction(db, work, indexScanSettings)
  claim.tokens = [token]
  return result
}

const toKeyParams = ({ workspaceId, webhookId, workerId }: BacklogClaim) => ({
  workspaceId: uuidOf(workspaceId),
  webhookId: uuidOf(webhookId),
  workerId,
})

type Key = ReturnType<typeof toKeyParams>

/** Runs before the claim, so that a job whose webhook has an empty backlog writes nothing. */
const findPending = preparedSql<Key, { unreachable_count: number }>(
  'find a pending delivery',
  (param) => sql`
    select coalesce(unreachable_count, 0) as unreachable_count from (
      select workspace_id, webhook_id from deliveries
      where workspace_id = ${param('workspaceId')}::uuid and webhook_id = ${param('webhookId')}::uuid and status = 'PENDING'
      order by created_at, id limit 1) pending
    left join webhook_drains drain
      on drain.workspace_id = ${param('workspaceId')}::uuid and drain.webhook_id = ${param('webhookId')}::uuid`,
)

/** Claims the row of `webhook_drains`; the first claim inserts it. Returns no row if the claim is not possible. */
const claimRow = preparedSql<Key & { token: string; now: Date }, { unreachable_count: number }>(
  'claim a backlog',
  (param) => sql`
    insert into webhook_drains as drain (workspace_id, webhook_id, worker_id, token)
    select workspace_id, id, ${param('workerId')}::uuid, ${param('token')}::uuid from webhooks
    where workspace_id = ${param('workspaceId')}::uuid and id = ${param('webhookId')}::uuid
      and ${not(isInSuspendedWorkspace(sql`webhooks.workspace_id`))}
    on conflict (workspace_id, webhook_id) do update
    set worker_id = excluded.worker_id, token = excluded.token
    where drain.token is null and (drain.paused_until is null or drain.paused_until <= ${param('now')}::timestamptz)
    returning unreachable_count`,
)

async function takeOldest(db: Db, claim: BacklogClaim, step: DrainStep & { token: string }): Promise<TakeResult> {
  const { ended, inFlight, token } = step
  const state = computeReceiverState(claim, ended)
  const { pausedUntil, unreachableCount } = state
  const limit = pausedUntil ? 0 : limitAttempts(step.limit, { unreachableCount, inFlightCount: inFlight.length })
  const rows = await takeDeliveries(db, {
    ...toKeyParams(claim),
    ...state,
    token,
    inFlight: [...inFlight],
    limit,
    now: new Date(),
  })
  claim.unreachableCount = rows[0]?.unreachable_count ?? 0
  if (getConclusiveOutcomes(claim, ended).length > 0) claim.assessedAt = new Date()
  const deliveries = rows.filter((row): row is TakenRow => row.id !== null)
  const receiver = rows[0]?.url ? toReceiver(rows[0]) : undefined
  if (receiver) return { receiver, deliveries: deliveries.map(toTaken), hasMore: deliveries.length === limit }
  return { receiver, deliveries: [], hasMore: await failPendingDeliveries(db, claim, inFlight) }
}

interface ReceiverRow {
  unreachable_count: number
  url: string | null
  encrypted_secret: string
  former_secrets: Receiver['formerSecrets']
}

interface TakenRow extends ReceiverRow {
  id: string
  event_id: string
  type: string | null
  data: string
  timestamp: string
  request_id: string | null
  traceparent: string | null
}

/**
 * Returns one row per delivery, or one row without a delivery. Trap: a statement that locks rows of `deliveries` must
 * not prune partitions by a parameter, such as a range of ids. PostgreSQL 18.4 crashes if such a statement waits for a
 * row that is being changed.
 */
const takeDeliveries = preparedSql<Key & ReceiverState & TakeParams, (ReceiverRow & { id: null }) | TakenRow>(
  'take deliveries',
  (param) => sql`
    with receiver as (
      select url, encrypted_secret, former_secrets from webhooks
      where workspace_id = ${param('workspaceId')}::uuid and id = ${param('webhookId')}::uuid and enabled
      for share),
    oldest as (
      select id, event_id, request_id, traceparent, created_at from deliveries
      where workspace_id = ${param('workspaceId')}::uuid and webhook_id = ${param('webhookId')}::uuid
        and status = 'PENDING' and id <> all(${param('inFlight')}::uuid[]) and exists (select from receiver)
        and ${not(isInSuspendedWorkspace(sql`deliveries.workspace_id`))}
      order by created_at, id limit ${param('limit')}::int),
    in_flight as (
      select ${param('inFlight')}::uuid[] || array(select id from oldest) as ids),
    drain as (
      update webhook_drains drain
      set token = case when ids <> '{}' then ${param('token')}::uuid end,
        worker_id = case when ids <> '{}' then ${param('workerId')}::uuid end,
        delivery_ids = ids,
        taken_at = case when exists (select from oldest) then ${param('now')}::timestamptz else drain.taken_at end,
        ${assignReceiverState(param)}
      from in_flight
      where workspace_id = ${param('workspaceId')}::uuid and webhook_id = ${param('webhookId')}::uuid
      returning unreachable_count)
    select drain.unreachable_count, receiver.*, oldest.id, oldest.event_id, oldest.request_id, oldest.traceparent, event.*
    from drain left join receiver on true left join oldest on true
    left join lateral (
      select type, data::text, created_at as timestamp from events
      where workspace_id = ${param('workspaceId')}::uuid and id = oldest.event_id limit 1) event on true`,
)

interface TakeParams {
  token: string
  inFlight: string[]
  limit: number
  now: Date
}

function toReceiver({ url, encrypted_secret, former_secrets }: ReceiverRow): Receiver {
  return { url: url ?? '', encryptedSecret: encrypted_secret, formerSecrets: former_secrets }
}

function toTaken({ id, event_id, type, data, timestamp, request_id, traceparent }: TakenRow): TakenDelivery {
  const eventId = idOf('evt', event_id)
  const body =
    type === null
      ? undefined
      : serializeEvent({ id: eventId, type, timestamp: new Date(timestamp).toISOString(), data })
  return { uuid: id, eventId, body, requestId: request_id, traceparent }
}
