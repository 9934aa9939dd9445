import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { createCommittedCounter } from './committed-counter.ts'
import { toUpdated, type Update, type Updated } from './changes.ts'
import { toFacts } from './event-filter.ts'
import type { EmittedType, EventDefinition, EventSubject } from './event-definition.ts'
import { type DeliveryId, uuidOf, type WebhookId } from '../kernel/ids.ts'
import { publishDrain } from '../work/publisher.ts'
import { namedStatement, type Params } from '../db/statements/named-statement.ts'
import { deliveries, events } from '../db/schema/index.ts'
import { arrayOf, bool, jsonb, nullable, text, uuid, type ValuesOf } from '../db/statements/sql-types.ts'

/** What an event needs to know of the transaction that emits it. */
export type EmitScope = Pick<Ctx, 'db' | 'workspaceId' | 'requestId' | 'traceparent'>

/** Events by type. Every function that emits events adds to it. */
export const emittedEvents = createCommittedCounter({
  name: 'events_total',
  help: 'Events that this process emitted, by type',
  labelNames: ['type'],
})

/** The contact whose timeline an event belongs to, as a UUID. */
function contactOf(type: string, data: EventSubject): string | null {
  if (data.contactErasedAt) return null
  const id = type.startsWith('contact.') ? data.id : data.contactId
  return id ? uuidOf(id) : null
}

/** The company whose timeline an event belongs to, as a UUID. Events of its contacts are in the timelines of these. */
function companyOf(type: string, data: EventSubject): string | null {
  if (type.startsWith('contact.')) return null
  const id = type.startsWith('company.') ? data.id : data.companyId
  return id ? uuidOf(id) : null
}

/**
 * Emits an event in the transaction of the change: records it, with a delivery for each enabled webhook that subscribes
 * to its type, and whose filter matches, when the statement starts.
 */
export function emit<Data extends EventSubject>(
  ctx: EmitScope,
  definition: EventDefinition<Data>,
  data: NoInfer<Data>,
): Promise<void> {
  return emitMany(ctx, definition, [data])
}

/** Emits an event for each record, in the given order, with one statement. */
export async function emitMany<Data extends EventSubject>(
  ctx: EmitScope,
  definition: EventDefinition<Data>,
  records: readonly NoInfer<Data>[],
): Promise<void> {
  await emitEach(
    ctx,
    definition,
    records.map((data) => ({ data, origin: ctx })),
  )
}

/** The same for records that several requests caused. */
export async function emitEach<Data extends EventSubject>(
  ctx: EmitScope,
  { type }: EventDefinition<Data>,
  records: readonly EventRecord<NoInfer<Data>>[],
): Promise<void> {
  await emitRecords(ctx, type, records)
}

/** Emits the event of each update, with what it changed. */
export async function emitUpdates<Data extends EventSubject>(
  ctx: Ctx,
  { type }: EventDefinition<Updated<Data>>,
  updates: readonly NoInfer<Update<Data>>[],
): Promise<void> {
  await emitRecords(
    ctx,
    type,
    updates.map((update) => ({ ...toUpdated(update), origin: ctx })),
  )
}

/** Emits the event of each update that an erasure made, without the former values: they may name the person. */
export async function emitErasures<Data extends EventSubject>(
  ctx: Ctx,
  { type }: EventDefinition<Updated<Data>>,
  updates: readonly NoInfer<Update<Data>>[],
): Promise<void> {
  await emitRecords(
    ctx,
    type,
    updates.map((update) => ({
      data: { ...update.after, changes: null },
      changed: toUpdated(update).changed,
      origin: ctx,
    })),
  )
}

async function emitRecords(
  ctx: EmitScope,
  type: EmittedType,
  records: readonly EventRecord<EventSubject>[],
): Promise<void> {
  if (records.length === 0) return
  publishDeliveries(ctx, await emitToSubscribed(ctx.db, toEventParams(ctx, type, records)))
  emittedEvents.add(ctx.db, { type }, records.length)
}

/** The data of an event and the request that caused it: one statement may emit events of several requests. */
export interface EventRecord<Data> {
  data: Data
  /** The names of the fields that an update changed. */
  changed?: readonly string[]
  origin: Pick<Ctx, 'requestId' | 'traceparent'>
}

/** Emits an event to one webhook, regardless of its subscriptions. Returns the delivery id if the webhook exists. */
export async function emitTo<Data extends EventSubject>(
  ctx: Ctx,
  { type }: EventDefinition<Data>,
  { webhookId, data }: { webhookId: WebhookId; data: NoInfer<Data> },
): Promise<DeliveryId | undefined> {
  const params = toEventParams(ctx, type, [{ data, origin: ctx }])
  const [delivery] = await emitToWebhook(ctx.db, { ...params, webhookId })
  if (!delivery) return undefined
  emittedEvents.add(ctx.db, { type }, 1)
  publishDrain(ctx.db, ctx.workspaceId)
  return delivery.id
}

/** Publishes the drain of new deliveries. Uses the first row, because every row says the same. */
export function publishDeliveries(ctx: EmitScope, [row]: readonly ValuesOf<typeof withDeliveries>[]): void {
  if (row?.hasDeliveries) publishDrain(ctx.db, ctx.workspaceId)
}

/** Whether `emitCtes` inserted deliveries. */
export const withDeliveries = { hasDeliveries: bool }
export const hasDeliveries = sql`exists (select from delivery) as has_deliveries`

/** The events of one statement, with one array per column. */
export const eventParams = {
  workspaceId: events.workspaceId,
  type: text,
  data: arrayOf(text),
  facts: arrayOf(jsonb<string>()),
  contactIds: arrayOf(nullable(uuid)),
  companyIds: arrayOf(nullable(uuid)),
  requestIds: arrayOf(text),
  traceparents: arrayOf(nullable(text)),
}
type EventParams = Params<typeof eventParams>

export function toEventParams(
  ctx: EmitScope,
  type: string,
  records: readonly EventRecord<EventSubject>[],
): ValuesOf<typeof eventParams> {
  return {
    workspaceId: ctx.workspaceId,
    type,
    data: records.map(({ data }) => JSON.stringify(data)),
    facts: records.map(({ data, changed }) => toFacts(data, changed)),
    contactIds: records.map(({ data }) => contactOf(type, data)),
    companyIds: records.map(({ data }) => companyOf(type, data)),
    requestIds: records.map(({ origin }) => origin.requestId),
    traceparents: records.map(({ origin }) => origin.traceparent ?? null),
  }
}

/** Whether the webhook `w` is enabled, subscribes to the type of the event `new_event`, and its filter matches. */
export const isSubscribed = ({ type }: Pick<EventParams, 'type'>) =>
  sql`w.enabled and w.event_types && array[${type}, '*'] and (w.filter_path is null or facts @@ w.filter_path)`

const emitToSubscribed = namedStatement('emit events', {
  isPrepared: true,
  params: eventParams,
  columns: withDeliveries,
  sql: (param) => sql`${insertEvents(param, isSubscribed(param))} select ${hasDeliveries}`,
})

const emitToWebhook = namedStatement('emit an event to a webhook', {
  isPrepared: true,
  params: { ...eventParams, webhookId: deliveries.webhookId },
  columns: { id: deliveries.id },
  sql: (param) => sql`${insertEvents(param, sql`w.id = ${param.webhookId}`)} select id from delivery`,
})

function insertEvents(param: EventParams, isReceiver: SQL): SQL {
  return sql`
    with workspace as (select id from workspaces where id = ${param.workspaceId}),
    new_event as (
      select uuidv7() as id, given.*
      from workspace cross join unnest(${param.data}, ${param.facts}, ${param.contactIds}, ${param.companyIds},
          ${param.requestIds}, ${param.traceparents})
          as given (data, facts, contact_id, company_id, request_id, traceparent)),
    ${emitCtes(param, isReceiver)}`
}

/**
 * CTEs that insert the events of an earlier CTE `new_event` (`id`, `data` as JSON text, `facts`, `contact_id`,
 * `company_id`, `request_id`, `traceparent`), with a PENDING delivery for each webhook `w` that meets the condition. The database generates the ids
 * and timestamps of events and deliveries, because the order of the feed and the partitions depend on them.
 */
export function emitCtes({ workspaceId, type }: Pick<EventParams, 'workspaceId' | 'type'>, isReceiver: SQL): SQL {
  return sql`
    event as (
      insert into events (workspace_id, id, type, data, contact_id, company_id)
      select ${workspaceId}, id, ${type}, data::json, contact_id, company_id from new_event),
    delivery as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type, request_id, traceparent)
      select w.workspace_id, uuidv7(), w.id, new_event.id, ${type}, request_id, traceparent
      from new_event cross join webhooks w
      where w.workspace_id = ${workspaceId} and ${isReceiver}
      -- Skips a webhook that is deleted concurrently, for which the foreign key would fail.
      for key share of w
      returning id)`
}
