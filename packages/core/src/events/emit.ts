import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { createCommittedCounter } from './committed-counter.ts'
import type { EventDefinition, EventSubject } from './event-definition.ts'
import { defaultRetention, type Retention } from '../kernel/retention.ts'
import { type DeliveryId, idOf, uuidOf, type WebhookId } from '../kernel/ids.ts'
import { publishDrain } from '../work/publisher.ts'
import { type Params, preparedSql } from '../db/prepared-query.ts'
import { transaction } from '../db/transaction.ts'

/** Events by type. Every function that emits events adds to it. */
export const emittedEvents = createCommittedCounter({
  name: 'events_total',
  help: 'Events that this process emitted, by type',
  labelNames: ['type'],
})

/** The contact whose timeline an event belongs to, as a UUID. */
function contactOf(type: string, data: EventSubject): string | null {
  const id = type.startsWith('contact.') ? data.id : data.contactId
  return id ? uuidOf(id) : null
}

/**
 * Emits an event in the transaction of the change: records it, with a delivery for each enabled webhook that subscribes
 * to its type when the statement starts.
 */
export function emit<Data extends EventSubject>(
  ctx: Ctx,
  definition: EventDefinition<Data>,
  data: NoInfer<Data>,
): Promise<void> {
  return emitMany(ctx, definition, [data])
}

/** Emits an event for each record, in the given order, with one statement. */
export async function emitMany<Data extends EventSubject>(
  ctx: Ctx,
  { type }: EventDefinition<Data>,
  records: readonly NoInfer<Data>[],
): Promise<void> {
  if (records.length === 0) return
  const events = records.map((data) => ({ data, origin: ctx }))
  publishDeliveries(ctx, await emitToSubscribed(ctx.db, toEventParams(ctx, type, events)))
  emittedEvents.add(ctx.db, { type }, records.length)
}

/** The data of an event and the request that caused it: one statement may emit events of several requests. */
export interface EventRecord<Data> {
  data: Data
  origin: Pick<Ctx, 'requestId' | 'traceparent'>
}

/** Emits an event to one webhook, regardless of its subscriptions. Returns the delivery id if the webhook exists. */
export async function emitTo<Data extends EventSubject>(
  ctx: Ctx,
  { type }: EventDefinition<Data>,
  { webhookId, data }: { webhookId: WebhookId; data: NoInfer<Data> },
): Promise<DeliveryId | undefined> {
  const params = toEventParams(ctx, type, [{ data, origin: ctx }])
  const [delivery] = await emitToWebhook(ctx.db, { ...params, webhookId: uuidOf(webhookId) })
  if (!delivery) return undefined
  emittedEvents.add(ctx.db, { type }, 1)
  publishDrain(ctx.db, ctx.workspaceId)
  return idOf('dlv', delivery.id)
}

/** Publishes the drain of new deliveries. Uses the first row, because every row says the same. */
export function publishDeliveries(ctx: Ctx, [row]: readonly WithDeliveries[]): void {
  if (row?.hasDeliveries) publishDrain(ctx.db, ctx.workspaceId)
}

/** Whether `emitCtes` inserted deliveries. */
export interface WithDeliveries {
  hasDeliveries: boolean
}
export const hasDeliveries = sql.raw('exists (select from delivery) as "hasDeliveries"')

/** The events of one statement, with one array per column. */
export interface EventParams extends Record<string, unknown> {
  workspaceId: string
  type: string
  data: string[]
  contactIds: (string | null)[]
  requestIds: string[]
  traceparents: (string | null)[]
}

export function toEventParams(ctx: Ctx, type: string, records: readonly EventRecord<EventSubject>[]): EventParams {
  return {
    workspaceId: uuidOf(ctx.workspaceId),
    type,
    data: records.map(({ data }) => JSON.stringify(data)),
    contactIds: records.map(({ data }) => contactOf(type, data)),
    requestIds: records.map(({ origin }) => origin.requestId),
    traceparents: records.map(({ origin }) => origin.traceparent ?? null),
  }
}

/** Whether the webhook `w` is enabled and subscribes to the type of the events. */
export const isSubscribed = (param: Params<EventParams>) =>
  sql`w.enabled and w.event_types && array[${param('type')}, '*']`

const emitToSubscribed = preparedSql<EventParams, WithDeliveries>(
  'emit events',
  (param) => sql`${insertEvents(param, isSubscribed(param))} select ${hasDeliveries}`,
)

const emitToWebhook = preparedSql<EventParams & { webhookId: string }, { id: string }>(
  'emit an event to a webhook',
  (param) => sql`${insertEvents(param, sql`w.id = ${param('webhookId')}::uuid`)} select id from delivery`,
)

function insertEvents(param: Params<EventParams>, isReceiver: SQL): SQL {
  return sql`
    with workspace as (select id from workspaces where id = ${param('workspaceId')}::uuid),
    new_event as (
      select uuidv7() as id, given.*
      from workspace cross join unnest(${param('data')}::text[], ${param('contactIds')}::uuid[],
        ${param('requestIds')}::text[], ${param('traceparents')}::text[])
        as given (data, contact_id, request_id, traceparent)),
    ${emitCtes(param, isReceiver)}`
}

/**
 * CTEs that insert the events of an earlier CTE `new_event` (`id`, `data` as JSON text, `contact_id`, `request_id`,
 * `traceparent`), with a PENDING delivery for each webhook `w` that meets the condition. The database generates the ids
 * and timestamps of events and deliveries, because the order of the feed and the partitions depend on them.
 */
export function emitCtes(param: Params<EventParams>, isReceiver: SQL): SQL {
  const workspaceId = sql`${param('workspaceId')}::uuid`
  return sql`
    event as (
      insert into events (workspace_id, id, type, data, contact_id)
      select ${workspaceId}, id, ${param('type')}, data::json, contact_id from new_event),
    delivery as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type, request_id, traceparent)
      select w.workspace_id, uuidv7(), w.id, new_event.id, ${param('type')}, request_id, traceparent
      from new_event cross join webhooks w
      where w.workspace_id = ${workspaceId} and ${isReceiver}
      -- Skips a webhook that is deleted concurrently, for which the foreign key would fail.
      for key share of w
      returning id)`
}

const hasPendingDelivery = sql`exists (
  select from deliveries d where d.workspace_id = e.workspace_id and d.event_id = e.id and d.status = 'PENDING')`

/**
 * Deletes up to 500 expired events in partitions that span more than a week and cannot be dropped yet. Keeps events
 * with a PENDING delivery. Returns the number of deleted events.
 */
export async function purgeEvents(
  db: Db,
  { eventsDays }: Pick<Retention, 'eventsDays'> = defaultRetention,
): Promise<number> {
  const old = await db.execute<{ workspace_id: string; id: string }>(sql`
    select workspace_id, id from events e
    where created_at < now() - ${eventsDays + 7} * interval '1 day' and not ${hasPendingDelivery}
    order by created_at limit 500`)
  let purged = 0
  for (const [workspaceUuid, rows] of Map.groupBy(old.rows, ({ workspace_id }) => workspace_id)) {
    const uuids = rows.map(({ id }) => id)
    purged += await transaction(db, (db) => deleteUnusedEvents(db, workspaceUuid, uuids))
  }
  return purged
}

async function deleteUnusedEvents(db: Db, workspaceUuid: string, uuids: readonly string[]): Promise<number> {
  const locked = await db.execute<{ id: string }>(sql`
    select id from events where workspace_id = ${workspaceUuid} and id = any(${sql.param(uuids)}::uuid[])
    order by id for update skip locked`)
  // Checked again: a delivery may have been added before the event was locked.
  const deleted = await db.execute(sql`
    delete from events e
    where e.workspace_id = ${workspaceUuid} and e.id = any(${sql.param(locked.rows.map(({ id }) => id))}::uuid[])
      and not ${hasPendingDelivery}`)
  return deleted.rowCount ?? 0
}
