import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import type { EventDefinition, EventSubject } from './event-definition.ts'
import { eventLifetimeDays } from '../db/partitions.ts'
import { type EventId, idOf, uuidOf, type WebhookId } from '../kernel/ids.ts'
import { enqueueMany } from '../jobs/outbox.ts'
import { type Params, preparedSql } from '../db/prepared-query.ts'
import { transaction } from '../db/transaction.ts'

/** The contact whose timeline an event belongs to, as a UUID. */
function contactOf(type: string, data: EventSubject): string | null {
  const id = type.startsWith('contact.') ? data.id : data.contactId
  return id ? uuidOf(id) : null
}

/**
 * Records an event in the transaction of the change, with a delivery for each enabled webhook that subscribes to its type
 * when the statement begins. One statement: without such a webhook it writes the event alone.
 */
export function emit<Data extends EventSubject>(
  ctx: Ctx,
  definition: EventDefinition<Data>,
  data: NoInfer<Data>,
): Promise<void> {
  return emitMany(ctx, definition, [data])
}

/** Emits an event for each record, in their order, by one statement. */
export async function emitMany<Data extends EventSubject>(
  ctx: Ctx,
  { type }: EventDefinition<Data>,
  records: readonly NoInfer<Data>[],
): Promise<void> {
  if (records.length === 0) return
  const events = records.map((data) => ({ data, origin: ctx }))
  await emitToSubscribed(ctx.db, toEventParams(ctx, type, events))
}

/** What happened, and the request that caused it: a statement may serve several. */
export interface EventRecord<Data> {
  data: Data
  origin: Pick<Ctx, 'requestId' | 'traceparent'>
}

/** Emits an event to one webhook, whatever that subscribes to. Returns the event's id. */
export async function emitTo<Data extends EventSubject>(
  ctx: Ctx,
  { type }: EventDefinition<Data>,
  { webhookId, data }: { webhookId: WebhookId; data: NoInfer<Data> },
): Promise<EventId> {
  const params = toEventParams(ctx, type, [{ data, origin: ctx }])
  const [event] = await emitToWebhook(ctx.db, { ...params, webhookId: uuidOf(webhookId) })
  if (!event) throw new Error('INSERT returned no event')
  return idOf('evt', event.id)
}

/** The events of one statement, an array for each column. */
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

const emitToSubscribed = preparedSql<EventParams>('emit events', (param) => insertEvents(param, isSubscribed(param)))

const emitToWebhook = preparedSql<EventParams & { webhookId: string }, { id: string }>(
  'emit an event to a webhook',
  (param) => insertEvents(param, sql`w.id = ${param('webhookId')}::uuid`),
)

function insertEvents(param: Params<EventParams>, isReceiver: SQL): SQL {
  return sql`
    -- Locks the workspace before the table of events, as the upkeep of partitions does: else the two could deadlock.
    with workspace as (
      select id from workspaces where id = ${param('workspaceId')}::uuid for key share),
    new_event as (
      select uuidv7() as id, given.*
      from workspace cross join unnest(${param('data')}::text[], ${param('contactIds')}::uuid[],
        ${param('requestIds')}::text[], ${param('traceparents')}::text[])
        as given (data, contact_id, request_id, traceparent)),
    ${emitCtes(param, isReceiver)}
    select new_event.id from new_event left join notified on true`
}

/**
 * CTEs that write the events of an earlier CTE `new_event` (`id`, `data` as JSON text, `contact_id`, `request_id`,
 * `traceparent`), with a delivery for each webhook `w` that fulfills the condition. The main query has to read `notified`,
 * as PostgreSQL does not run a SELECT that nothing reads. Ids and times of events and deliveries come from the database,
 * since the order of the feed and the partitions depend on them; those of the record come from the process.
 */
export function emitCtes(param: Params<EventParams>, isReceiver: SQL): SQL {
  const workspaceId = sql`${param('workspaceId')}::uuid`
  return sql`
    event as (
      insert into events (workspace_id, id, type, data, contact_id)
      select ${workspaceId}, id, ${param('type')}, data::json, contact_id from new_event),
    delivery as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
      select w.workspace_id, uuidv7(), w.id, new_event.id, ${param('type')}
      from new_event cross join webhooks w
      where w.workspace_id = ${workspaceId} and ${isReceiver}
      -- PostgreSQL skips a webhook that is deleted meanwhile, where the foreign key would fail.
      for key share of w
      returning workspace_id, id, webhook_id as lane, event_id),
    ready as (
      select delivery.*, request_id, traceparent from delivery join new_event on new_event.id = delivery.event_id),
    ${enqueueMany('webhooks', 'ready', { requestId: sql`request_id`, traceparent: sql`traceparent` })}`
}

const isOpen = sql`exists (
  select from deliveries d
  where d.workspace_id = e.workspace_id and d.event_id = e.id and d.status in ('PENDING', 'SENDING'))`

/**
 * Deletes events past their lifetime that lie in a partition which cannot be dropped yet (it spans more than a week, or
 * part of it is needed), a few at a time, with their deliveries. An event with an open delivery stays. Returns the count.
 */
export function purgeEvents(db: Db): Promise<number> {
  return transaction(db, async (db) => {
    const old = await db.execute<{ workspace_id: string; id: string }>(sql`
      select workspace_id, id from events e
      where created_at < now() - ${eventLifetimeDays + 7} * interval '1 day' and not ${isOpen}
      order by created_at limit 500 for update skip locked`)
    // Asked again, as one may have got a delivery before it was locked.
    const [workspaceIds, ids] = [old.rows.map((row) => row.workspace_id), old.rows.map((row) => row.id)]
    const gone = await db.execute<{ count: number }>(sql`
      with gone as (
        delete from events e using unnest(${sql.param(workspaceIds)}::uuid[], ${sql.param(ids)}::uuid[]) as old (workspace_id, id)
        where e.workspace_id = old.workspace_id and e.id = old.id and not ${isOpen}
        returning e.workspace_id, e.id),
      undone as (
        delete from deliveries d using gone where d.workspace_id = gone.workspace_id and d.event_id = gone.id)
      select count(*)::int as count from gone`)
    return gone.rows[0]?.count ?? 0
  })
}
